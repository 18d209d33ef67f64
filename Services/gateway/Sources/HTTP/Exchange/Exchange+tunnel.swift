import NIOCore

/// What an exchange knows of its WebSocket.
struct Tunnel {
    /// Bytes from the client.
    var bytesIn = 0
    var fromClient = WebSocketFrames()
    var fromUpstream = WebSocketFrames()
    /// The line of its beginning in the access log; `nil`: it was not written.
    var beginning: AccessLine?
}

/// Bytes of a WebSocket, in the protocol that client and upstream agreed on.
extension Exchange {
    func relay(_ bytes: ByteBuffer) {
        tunnel.bytesIn += bytes.readableBytes
        bytes.withUnsafeReadableBytes { tunnel.fromClient.note($0) }
        upstream?.write(bytes)
        client.extendStream()
    }

    /// The upstream has closed its side.
    func tunnelEnded() {
        upstream = nil
        end()
        client.tunnelEnded()
    }

    /// Ends the WebSocket because the gateway stops, with a Close frame for both sides. Where the upstream is in the middle
    /// of a frame, the WebSocket goes on until it is asked for again.
    func goAway() {
        guard state.isTunnel, tunnel.fromUpstream.isAtBoundary else { return }
        note(refusal: "shutdown")
        let connection = upstream
        upstream = nil
        let mask = UInt32(truncatingIfNeeded: worker.random.next())
        connection?.leave(
            after: tunnel.fromClient.isAtBoundary ? ByteBuffer(bytes: WebSocketFrames.goingAway(mask: mask)) : nil)
        end()
        client.write(ByteBuffer(bytes: WebSocketFrames.goingAway(mask: nil)))
        client.tunnelEnded()
    }
}
