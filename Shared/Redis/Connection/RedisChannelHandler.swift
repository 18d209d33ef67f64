import NIOCore

/// The connection's end of the channel: bytes in, answers to `RedisConnection`.
final class RedisChannelHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    let connection: RedisConnection
    private let reader: RedisReplyReader

    init(connection: RedisConnection, maximumReplyBytes: Int) {
        self.connection = connection
        self.reader = RedisReplyReader(maximumReplyBytes: maximumReplyBytes)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        // Closing takes effect when the buffers are drained; a broken reader must not be asked again.
        guard connection.closure == nil else { return }
        do {
            try reader.feed(unwrapInboundIn(data))
            while let reply = try reader.next() {
                try connection.receive(reply)
            }
        } catch {
            connection.close(error)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        connection.close(RedisError(.connectionLost, "The connection to Redis failed.", underlying: error))
    }

    func channelInactive(context: ChannelHandlerContext) {
        connection.close(RedisError(.connectionLost, "Redis closed the connection."))
        context.fireChannelInactive()
    }
}
