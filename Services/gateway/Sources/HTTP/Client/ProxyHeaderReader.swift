import NIOCore

/// Reads the PROXY header at a connection's beginning, and takes the client's address from it. A connection without one,
/// or from a peer that is not trusted, is closed.
final class ProxyHeaderReader: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private let connection: ClientConnection
    private var bytes: [UInt8] = []

    init(for connection: ClientConnection) { self.connection = connection }

    func channelActive(context: ChannelHandlerContext) {
        guard connection.settings.trustedProxies.contains(connection.peer.address) else {
            return close(context, "untrusted proxy")
        }
        context.fireChannelActive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        bytes += unwrapInboundIn(data).readableBytesView
        do throws(ProxyHeader.Fault) {
            guard let header = try ProxyHeader.read(bytes) else { return }
            if case .client(let address) = header.source,
                !connection.worker.gateway.admitsConnection(from: address, now: connection.worker.now)
            {
                return context.close(promise: nil)
            }
            connection.peer.comes(from: header.source)
            connection.wait(isPrepared: !connection.peer.isSecure)
            let rest = ByteBuffer(bytes: bytes[header.length...])
            bytes = []
            if rest.readableBytes > 0 { context.fireChannelRead(wrapInboundOut(rest)) }
            context.pipeline.syncOperations.removeHandler(self, promise: nil)
        } catch {
            close(context, "malformed: proxy header")
        }
    }

    private func close(_ context: ChannelHandlerContext, _ reason: String) {
        connection.worker.gateway.metrics.countRefusal(reason)
        context.close(promise: nil)
    }
}
