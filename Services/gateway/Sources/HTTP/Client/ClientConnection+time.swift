import NIOCore

/// What happens to a connection without its client.
extension ClientConnection {
    /// A request waits for keys that are being fetched. However often others come meanwhile, it waits once.
    func waitForKeys(of address: AddressKey) {
        let until = keyWait?.until ?? worker.now + settings.keyTimeout.nanoseconds
        keyWait = KeyWait(address: address, until: until)
        phase = .waitingForKeys
        deadline = until
        worker.requestBegins(of: address)
    }

    func leaveKeyWait() {
        guard let keyWait else { return }
        worker.requestEnds(of: keyWait.address, wasTunnel: false)
    }

    func keysChanged() {
        leaveKeyWait()
        phase = .head
        lookedAt = 0
        process()
        flush()
        exchange?.flushUpstream()
    }

    func timedOut(now: Int64) {
        guard look(now: now) || isClosed else { return endAsTooSlow() }
        guard phaseDeadline <= now, !givesMoreTime(now: now) else { return noteDeadline() }
        switch phase {
        case .head:
            if let stream, !isWritable {
                stream.resetUnread()
            } else if input.readableBytes > 0, !peer.isOverLimit {
                refuse(.malformed("took too long"))
            } else {
                context?.close(promise: nil)
            }
        case .waitingForKeys:
            keyWait?.isOver = true
            keysChanged()
        case .body, .responding, .tunnel:
            if let exchange {
                exchange.timedOut()
            } else {
                context?.close(promise: nil)
            }
        case .lingering, .closed: context?.close(promise: nil)
        }
        if phaseDeadline <= now { deadline = now + lingerTimeout }
    }

    /// A time that a client is given begins when it has taken what waits for it.
    private func givesMoreTime(now: Int64) -> Bool {
        switch phase {
        case .waitingForKeys, .closed: return false
        case .head where waiting > 0: deadline = now + settings.idleTimeout.nanoseconds
        case .lingering where waiting > 0: startLingering(now)
        // The system may still be sending, and would stop if the client said anything to a closed connection.
        case .lingering where now < lingersUntil && stream == nil && context?.channel.hasDelivered == false:
            deadline = min(lingersUntil, now + lingerTimeout)
        case .body, .responding, .tunnel:
            guard waiting > 0 else { return false }
            guard let exchange else {
                startLingering(now)
                return true
            }
            guard exchange.hasResponse else { return false }
            exchange.extendStream()
        case .head, .lingering: return false
        }
        return true
    }

    func closeIfIdle() {
        if case .head = phase, input.readableBytes == 0 { linger() }
    }
}

/// A request's wait for keys that are being fetched.
struct KeyWait {
    var address: AddressKey
    /// Nanoseconds of the worker's clock.
    var until: Int64
    var isOver = false
}
