import NIOCore
import NIOHTTPTypes

/// Joins all pieces of a body that one read has brought.
///
/// A client may send its body in chunks of one byte. Each piece costs as much as a large one further on: a turn of the
/// asynchronous channel, a task's step, a copy. Joined, there are no more pieces than reads.
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

    // Events keep their order: what was read before them is passed on first.

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
