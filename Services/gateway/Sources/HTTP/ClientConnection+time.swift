import NIOCore

/// What happens to a connection without its client.
extension ClientConnection {
    func keysChanged() {
        phase = .head
        lookedAt = 0
        process()
        flush()
        exchange?.flushUpstream()
    }

    func timedOut(now: Int64) {
        switch phase {
        case .head:
            if input.readableBytes > 0, !peer.isOverLimit {
                refuse(.malformed("took too long"))
            } else {
                context?.close(promise: nil)
            }
        case .waitingForKeys:
            hasWaitedForKeys = true
            keysChanged()
        case .body, .answering, .tunnel:
            if let exchange {
                exchange.timedOut()
            } else {
                context?.close(promise: nil)
            }
        case .lingering, .closed: context?.close(promise: nil)
        }
        if deadline <= now { deadline = now + lingerTimeout }
    }

    func closeIfIdle() {
        if case .head = phase, input.readableBytes == 0 { linger() }
    }
}
