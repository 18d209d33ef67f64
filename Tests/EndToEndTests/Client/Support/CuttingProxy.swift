import NIOCore
import NIOPosix
import Synchronization

/// Stands between a client and a server on this machine, and cuts a connection at a byte of either direction.
final class CuttingProxy: Sendable {
    enum Direction: Sendable, Hashable {
        case request
        case response
    }

    /// What has passed since the last ``cut(_:after:)``.
    struct Traffic: Sendable {
        var bytes: [Direction: Int] = [.request: 0, .response: 0]
        var hasCut = false
    }

    private struct State {
        var traffic = Traffic()
        var cut: (direction: Direction, count: Int)?
    }

    private let state = Mutex(State())

    var traffic: Traffic { state.withLock { $0.traffic } }

    /// Counts anew, and ends the connection at which the byte after `count` bytes arrives, after those bytes. Once;
    /// other connections are let through.
    func cut(_ direction: Direction? = nil, after count: Int = 0) {
        state.withLock { $0 = State(cut: direction.map { ($0, count) }) }
    }

    /// - Returns: how many of `count` bytes pass; `nil`: the connection ends after them.
    fileprivate func admit(_ count: Int, _ direction: Direction) -> (bytes: Int, ends: Bool) {
        state.withLock { state in
            let before = state.traffic.bytes[direction] ?? 0
            guard let cut = state.cut, cut.direction == direction, before + count > cut.count else {
                state.traffic.bytes[direction] = before + count
                return (count, false)
            }
            state.cut = nil
            state.traffic.hasCut = true
            state.traffic.bytes[direction] = cut.count
            return (cut.count - before, true)
        }
    }

    /// Runs `body` with a proxy in front of `server`, a port of this machine.
    static func run(to server: Int, _ body: (CuttingProxy, _ port: Int) async throws -> Void) async throws {
        let proxy = CuttingProxy()
        let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.backlog, value: 256)
            .childChannelInitializer { client in
                ClientBootstrap(group: client.eventLoop)
                    .channelInitializer { upstream in
                        upstream.eventLoop.makeCompletedFuture {
                            try upstream.pipeline.syncOperations.addHandler(
                                CuttingRelay(.response, to: client, of: proxy))
                        }
                    }
                    .connect(host: "127.0.0.1", port: server)
                    .flatMapThrowing { upstream in
                        try client.pipeline.syncOperations.addHandler(CuttingRelay(.request, to: upstream, of: proxy))
                    }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        do {
            try await body(proxy, listener.localAddress?.port ?? 0)
        } catch {
            try? await listener.close()
            throw error
        }
        try await listener.close()
    }
}

/// Passes one direction's bytes on, and closes both sides where either ends.
private final class CuttingRelay: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let direction: CuttingProxy.Direction
    private let other: any Channel
    private let proxy: CuttingProxy
    private var hasEnded = false

    init(_ direction: CuttingProxy.Direction, to other: any Channel, of proxy: CuttingProxy) {
        self.direction = direction
        self.other = other
        self.proxy = proxy
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !hasEnded else { return }
        var buffer = unwrapInboundIn(data)
        let (bytes, ends) = proxy.admit(buffer.readableBytes, direction)
        let written = other.writeAndFlush(buffer.readSlice(length: bytes))
        guard ends else { return }
        hasEnded = true
        // Whatever has passed arrives before the end does.
        let channel = context.channel
        written.whenComplete { [other] _ in
            other.close(promise: nil)
            channel.close(promise: nil)
        }
    }

    func channelInactive(context: ChannelHandlerContext) { other.close(promise: nil) }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}
