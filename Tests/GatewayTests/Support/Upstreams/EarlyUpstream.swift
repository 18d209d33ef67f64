import NIOCore
import TestKit

/// Runs `body` with an upstream that answers as soon as it sees a byte, whatever the request still has to say.
func withEarlyUpstream(_ body: (_ port: Int) async throws -> Void) async throws {
    try await withTCPServer(onAccept: { try $0.pipeline.syncOperations.addHandler(EarlyHandler()) }, body)
}

private final class EarlyHandler: ChannelInboundHandler {
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
