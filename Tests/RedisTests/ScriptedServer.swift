import NIOCore
import NIOPosix
import Redis
import TestKit

/// A server that answers the client's `PING` on connecting, and the next thing it reads on each connection with
/// bytes that a test has chosen; then it closes, or waits.
func withScriptedServer(
    answer: String, thenClose: Bool, _ body: (RedisConfiguration) async throws -> Void
) async throws {
    let channel = try await ServerBootstrap(group: singletonEventLoopGroup)
        .childChannelInitializer { channel in
            channel.eventLoop.makeCompletedFuture {
                try channel.pipeline.syncOperations.addHandler(ScriptHandler(answer: answer, thenClose: thenClose))
            }
        }
        .bind(host: "127.0.0.1", port: 0).get()
    let configuration = try RedisConfiguration.patient("redis://127.0.0.1:\(channel.localAddress?.port ?? 0)")
    let result: Result<Void, any Error>
    do {
        result = .success(try await body(configuration))
    } catch {
        result = .failure(error)
    }
    try await channel.close()
    try result.get()
}

private final class ScriptHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let answer: String
    private let thenClose: Bool
    private var isOpen = false

    init(answer: String, thenClose: Bool) {
        self.answer = answer
        self.thenClose = thenClose
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if !isOpen {
            isOpen = true
            context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: "+PONG\r\n")), promise: nil)
            return
        }
        context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: answer)), promise: nil)
        if thenClose { context.close(promise: nil) }
    }
}
