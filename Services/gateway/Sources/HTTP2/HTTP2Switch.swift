import NIOCore
import NIOHTTP2
import NIOTLS

/// Has a connection go on as HTTP/2 when client and gateway agreed on that in the TLS handshake (RFC 7301); otherwise it
/// stays what it is.
final class HTTP2Switch: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer

    private let connection: ClientConnection

    /// - Parameter connection: the handler after this one; it goes when HTTP/2 comes.
    init(from connection: ClientConnection) { self.connection = connection }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard case .handshakeCompleted(let negotiated) = event as? TLSUserEvent else {
            return context.fireUserInboundEventTriggered(event)
        }
        let pipeline = context.pipeline.syncOperations
        if negotiated == "h2" {
            pipeline.removeHandler(connection, promise: nil)
            do {
                try HTTP2Connection(on: context.channel, worker: connection.worker, peer: connection.peer).begin()
            } catch {
                return context.close(promise: nil)
            }
        } else {
            connection.wait()
        }
        pipeline.removeHandler(context: context, promise: nil)
    }
}
