import NIOCore
import NIOPosix

/// Answers as soon as it sees a byte, whatever the request still has to say.
struct EarlyUpstream: Sendable {
    private final class Handler: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer
        private var hasAnswered = false

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            guard !hasAnswered else { return }
            hasAnswered = true
            let answer = ByteBuffer(string: "HTTP/1.1 403 No\r\nContent-Length: 2\r\n\r\nno")
            context.writeAndFlush(wrapOutboundOut(answer), promise: nil)
        }
    }

    private let channel: any Channel

    static func start() async throws -> EarlyUpstream {
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try channel.pipeline.syncOperations.addHandler(Handler()) }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        return EarlyUpstream(channel: channel)
    }

    var port: Int { channel.localAddress!.port! }

    func stop() async { try? await channel.close().get() }
}
