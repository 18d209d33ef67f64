import NIOCore
import NIOPosix
import Synchronization

/// Stands between a client and a server on this machine, and cuts their connection when told to.
public final class TCPProxy: Sendable {
    private let listener: any Channel
    private let cut: Cut

    /// The port to connect to.
    public let port: Int

    fileprivate init(to server: Int) async throws {
        let cut = Cut()
        self.cut = cut
        let bootstrap = ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { client in
                ClientBootstrap(group: client.eventLoop)
                    .channelInitializer { upstream in
                        upstream.eventLoop.makeCompletedFuture {
                            try upstream.pipeline.syncOperations.addHandler(RelayHandler(to: client, cut: cut))
                        }
                    }
                    .connect(host: "127.0.0.1", port: server)
                    .flatMapThrowing { upstream in
                        try client.pipeline.syncOperations.addHandler(RelayHandler(to: upstream, cut: nil))
                    }
            }
        listener = try await bootstrap.bind(host: "127.0.0.1", port: 0).get()
        port = listener.localAddress?.port ?? 0
    }

    /// Ends the connection that brings the `count`th byte from the server, counted from now, after that byte.
    public func cut(afterBytesFromServer count: Int) {
        cut.remaining.withLock { $0 = count }
    }

    fileprivate func close() async {
        try? await listener.close()
    }
}

/// Runs `body` with a proxy in front of the server on port `server` of this machine.
public func withTCPProxy<Value: Sendable>(
    to server: Int, isolation: isolated (any Actor)? = #isolation, _ body: (TCPProxy) async throws -> Value
) async throws -> Value {
    let proxy = try await TCPProxy(to: server)
    let result: Result<Value, any Error>
    do {
        result = .success(try await body(proxy))
    } catch {
        result = .failure(error)
    }
    await proxy.close()
    return try result.get()
}

/// How many more bytes of the server may pass; nil lets all pass.
private final class Cut: Sendable {
    let remaining = Mutex<Int?>(nil)

    /// Takes up to `count` from what may pass; returns how many do, and whether the connection ends after them.
    func admit(_ count: Int) -> (bytes: Int, ends: Bool) {
        remaining.withLock { remaining in
            guard let left = remaining else { return (count, false) }
            if count < left {
                remaining = left - count
                return (count, false)
            }
            remaining = nil
            return (left, true)
        }
    }
}

/// Passes what it reads on to the other side, and closes it when its own side ends.
private final class RelayHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let other: any Channel
    private let cut: Cut?

    init(to other: any Channel, cut: Cut?) {
        self.other = other
        self.cut = cut
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var buffer = unwrapInboundIn(data)
        let (bytes, ends) = cut?.admit(buffer.readableBytes) ?? (buffer.readableBytes, false)
        let written = other.writeAndFlush(buffer.readSlice(length: bytes))
        if ends {
            context.close(promise: nil)
            written.whenComplete { [other] _ in other.close(promise: nil) }
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        other.close(promise: nil)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }
}
