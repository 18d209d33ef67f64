import NIOCore
import NIOHTTPTypes

/// Makes one piece of all pieces of a body that one read brought.
///
/// A body may come in chunks of one byte, and each piece costs the rest of the way what a large one does: a turn of the
/// asynchronous channel, a task's step, a copy. So no client decides how many there are; the network does.
final class BodyCoalescer: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart

    /// What the read at hand has brought so far.
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

    // Whatever else happens, happens after what was read before it.

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
