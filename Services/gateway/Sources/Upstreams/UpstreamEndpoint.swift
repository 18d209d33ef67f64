import NIOCore
import NIOPosix

/// One resolved address of an upstream, and how to connect to it.
struct UpstreamEndpoint: Hashable, Sendable {
    /// The request of a health check.
    struct Check: Hashable, Sendable {
        var health: HealthCheck
        /// Whole lines that every request to the address has.
        var lines: String
    }

    /// Bytes that the system buffers of an unread response; it may double that.
    private static let receiveBuffer: ChannelOptions.Types.SocketOption.Value = 256 * 1024

    var address: SocketAddress
    /// The name that its certificate has to contain; empty without TLS.
    var host = ""
    /// `nil`: without TLS.
    var tls: UpstreamTLS?
    /// `nil`: only its responses to requests decide about its health.
    var check: Check?
    /// How long a kept connection may be unused; `nil`: as long as any upstream's.
    var idleTimeout: Duration?

    /// Opens a connection. With TLS, it is complete when the other side has presented a valid certificate.
    func connect(on eventLoop: any EventLoop, within limit: TimeAmount) -> EventLoopFuture<any Channel> {
        let channel = ClientBootstrap(group: eventLoop)
            .connectTimeout(limit)
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            // Once the other side has closed, NIO reads all that the system holds, even if the handlers do not read.
            .channelOption(.socketOption(.so_rcvbuf), value: Self.receiveBuffer)
            // NIO keeps all messages of one turn of the event loop in memory, even if the handlers do not read.
            .channelOption(.maxMessagesPerRead, value: 1)
            .connect(to: address)
        guard let tls else { return channel }
        return channel.flatMap { tls.handshake(on: $0, host: host, within: limit) }
    }

    /// Sends one request on a connection of its own.
    ///
    /// - Parameters:
    ///   - request: the complete request, with `Connection: close`.
    ///   - limit: for the whole exchange.
    ///   - status: completed with the response's status once the whole response has arrived. Failing it closes the
    ///     connection.
    func send(_ request: String, within limit: Duration, _ status: EventLoopPromise<Int>) {
        let eventLoop = status.futureResult.eventLoop
        let timeout = eventLoop.scheduleTask(in: TimeAmount(limit)) {
            status.fail(ChannelError.connectTimeout(TimeAmount(limit)))
        }
        status.futureResult.whenComplete { _ in timeout.cancel() }
        connect(on: eventLoop, within: TimeAmount(limit)).whenComplete { result in
            do {
                let channel = try result.get()
                status.futureResult.whenComplete { _ in channel.close(promise: nil) }
                try channel.pipeline.syncOperations.addHandler(StatusReader(status))
                channel.writeAndFlush(ByteBuffer(string: request), promise: nil)
            } catch {
                status.fail(error)
            }
        }
    }
}

extension SocketAddress {
    /// As in a `Host` field.
    var authority: String {
        let host = ipAddress ?? ""
        return (host.contains(":") ? "[\(host)]" : host) + ":\(port ?? 0)"
    }
}
