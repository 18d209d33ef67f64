import NIOCore
import Redis
import TestKit

/// A server that answers the client's `PING` on connecting, tells nothing of itself, and answers the next thing with
/// bytes that a test has chosen; then it closes, or waits.
func withScriptedServer(
    info: String = "-NOPERM this user has no permissions to run 'info'\r\n", answer: String, thenClose: Bool,
    _ body: (RedisConfiguration) async throws -> Void
) async throws {
    try await withTCPServer(
        onAccept: {
            try $0.pipeline.syncOperations.addHandler(ScriptHandler(info: info, answer: answer, thenClose: thenClose))
        }
    ) { port in
        try await body(.patient("redis://127.0.0.1:\(port)"))
    }
}

private final class ScriptHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let info: String
    private let answer: String
    private let thenClose: Bool
    private var isOpen = false

    init(info: String, answer: String, thenClose: Bool) {
        self.info = info
        self.answer = answer
        self.thenClose = thenClose
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if !isOpen {
            isOpen = true
            context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: "+PONG\r\n")), promise: nil)
            return
        }
        if String(buffer: unwrapInboundIn(data)).contains("INFO") {
            return context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: info)), promise: nil)
        }
        context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: answer)), promise: nil)
        if thenClose { context.close(promise: nil) }
    }
}
