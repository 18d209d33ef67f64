import NIOCore

/// A connection that goes on as WebSocket: its bytes are carried, and not looked at.
extension ClientConnection {
    func beginTunnel() {
        phase = .tunnel
        // What the client sent ahead.
        process()
    }

    /// Hands on what has come, as far as the upstream takes it. The rest waits in `input`, and then in the socket.
    func relay() {
        guard let exchange, exchange.takesBody, input.readableBytes > 0 else { return }
        let bytes = input
        input = ByteBuffer()
        exchange.relay(bytes)
    }

    /// The upstream has nothing more to say.
    func tunnelEnded() {
        leaveExchange()
        linger()
    }
}
