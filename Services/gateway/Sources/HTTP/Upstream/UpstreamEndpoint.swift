import NIOCore
import NIOPosix

/// One address of an upstream, and how it is spoken to.
struct UpstreamEndpoint: Hashable, Sendable {
    /// A question that tells whether the address is well.
    struct Check: Hashable, Sendable {
        var health: HealthCheck
        /// Lines that every request there has.
        var lines: String
    }

    /// Bytes that the system keeps of a response that nobody reads; it may double that.
    private static let receiveBuffer: ChannelOptions.Types.SocketOption.Value = 256 * 1024

    var address: SocketAddress
    /// What its certificate has to name; empty without TLS.
    var host = ""
    /// `nil`: without TLS.
    var tls: UpstreamTLS?
    /// `nil`: it is judged by how it responds to requests alone.
    var check: Check?
    /// How long a kept connection may be unused; `nil`: as long as any upstream's.
    var idleTimeout: Duration?

    /// Opens a connection. With TLS, the other side has shown a valid certificate by then.
    func connect(on eventLoop: any EventLoop, within limit: TimeAmount) -> EventLoopFuture<any Channel> {
        let channel = ClientBootstrap(group: eventLoop)
            .connectTimeout(limit)
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            // NIO reads all that the system holds once the other side has closed, whether or not anybody takes it.
            .channelOption(.socketOption(.so_rcvbuf), value: Self.receiveBuffer)
            // What one turn of the event loop brings is kept whether or not anybody wants it.
            .channelOption(.maxMessagesPerRead, value: 1)
            .connect(to: address)
        guard let tls else { return channel }
        return channel.flatMap { tls.handshake(on: $0, host: host, within: limit) }
    }

    /// Sends one request on a connection of its own.
    ///
    /// - Parameters:
    ///   - request: whole; it asks that the connection be closed.
    ///   - limit: for all of it.
    ///   - status: told the response's status once the whole response is there. Who fails it ends the asking.
    func ask(_ request: String, within limit: Duration, _ status: EventLoopPromise<Int>) {
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
