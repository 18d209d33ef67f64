import NIOCore
import NIOHTTPTypes

/// Joins all pieces of a body from the same read.
///
/// A client may send its body in chunks of one byte. Each piece costs the later handlers as much as a large one: a turn
/// of the asynchronous channel, a step of a task, a copy. Joining limits the pieces to one for each read.
final class BodyCoalescer: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart

    /// The bytes of the current read.
    private var body: ByteBuffer?

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard case .body(let piece) = unwrapInboundIn(data) else {
            passOn(context)
            return context.fireChannelRead(data)
        }
        if body == nil {
            body = piece
        } else {
            body?.writeImmutableBuffer(piece)
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        passOn(context)
        context.fireChannelReadComplete()
    }

    // Events keep their order: bytes that were read earlier are forwarded first.

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        passOn(context)
        context.fireErrorCaught(error)
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        passOn(context)
        context.fireUserInboundEventTriggered(event)
    }

    func channelInactive(context: ChannelHandlerContext) {
        passOn(context)
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        passOn(context)
    }

    private func passOn(_ context: ChannelHandlerContext) {
        guard let piece = body else { return }
        body = nil
        context.fireChannelRead(wrapInboundOut(.body(piece)))
    }
}
