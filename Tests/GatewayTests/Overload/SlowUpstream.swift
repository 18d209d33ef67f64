import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization

/// A service that takes its time over each request, and keeps nothing of it.
final class SlowUpstream: Sendable {
    private struct Counts {
        var served = 0
        var open = 0
    }

    private let pause: TimeAmount
    private let counts = Mutex(Counts())
    private let server = Mutex<(any Channel)?>(nil)

    init(pause: TimeAmount) { self.pause = pause }

    /// - Returns: its port.
    func start() async throws -> Int {
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    self.counts.withLock { $0.open += 1 }
                    channel.closeFuture.whenComplete { _ in self.counts.withLock { $0.open -= 1 } }
                    try channel.pipeline.syncOperations.addHandlers(
                        ByteToMessageHandler(HTTPRequestDecoder(leftOverBytesStrategy: .dropBytes)), Answerer(self))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        server.withLock { $0 = channel }
        return channel.localAddress!.port!
    }

    func stop() async { try? await server.withLock { $0 }?.close().get() }

    var served: Int { counts.withLock { $0.served } }
    /// Connections that are there.
    var open: Int { counts.withLock { $0.open } }

    private final class Answerer: ChannelInboundHandler {
        typealias InboundIn = HTTPServerRequestPart
        typealias OutboundOut = ByteBuffer

        private static let answer = ByteBuffer(
            string: "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n" + String(repeating: "x", count: 1000))
        private let upstream: SlowUpstream

        init(_ upstream: SlowUpstream) { self.upstream = upstream }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            guard case .end = unwrapInboundIn(data) else { return }
            upstream.counts.withLock { $0.served += 1 }
            let channel = context.channel
            context.eventLoop.scheduleTask(in: upstream.pause) { channel.writeAndFlush(Self.answer, promise: nil) }
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
    }
}
