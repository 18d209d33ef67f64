import NIOCore
import NIOPosix
import Synchronization

/// Takes bytes, and keeps but their number.
final class Sink: ChannelInboundHandler, Sendable {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let taken = Mutex(0)
    private let expected: Int
    private let answer: ByteBuffer?

    /// - Parameters:
    ///   - expected: bytes, heads included, after which it answers.
    ///   - answer: `nil`: none.
    init(expected: Int = .max, answer: ByteBuffer? = nil) {
        self.expected = expected
        self.answer = answer
    }

    var count: Int { taken.withLock { $0 } }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let bytes = unwrapInboundIn(data).readableBytes
        let count = taken.withLock { taken in
            taken += bytes
            return taken
        }
        if count >= expected, let answer { context.writeAndFlush(wrapOutboundOut(answer), promise: nil) }
    }

    /// Connects, and reads nothing until it is told to. Its system takes little ahead of it.
    func connect(port: Int) async throws -> any Channel {
        try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelOption(.autoRead, value: false)
            .channelOption(.socketOption(.so_rcvbuf), value: 64 * 1024)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try channel.pipeline.syncOperations.addHandler(self) }
            }
            .connect(host: "127.0.0.1", port: port).get()
    }
}
