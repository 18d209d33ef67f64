import NIOCore

/// What happens to a connection without its client.
extension ClientConnection {
    /// When `timedOut` is to be called; nanoseconds of the worker's clock.
    var deadline: Int64 { state.deadline }

    func noteDeadline() { if place >= 0 { worker.timers.note(self) } }

    /// The exchange has until then for its next step; nanoseconds of the worker's clock.
    func allow(until deadline: Int64) {
        state.allow(until: deadline)
        noteDeadline()
    }

    /// A part of a response or of a WebSocket has come.
    func extendStream() {
        state.extendStream(at: worker.now)
        noteDeadline()
    }

    func timedOut(now: Int64) {
        let isFast = look(now: now)
        let action = state.timedOut(
            isFast: isFast, isWritable: isWritable, hasInput: input.readableBytes > 0,
            hasResponse: exchange?.state.hasResponse ?? false,
            isUndelivered: { stream == nil && context?.channel.hasDelivered == false }, at: now)
        switch action {
        case .wait: break
        case .endSlowReader: endSlowReader()
        case .resetStream: stream?.resetUnread()
        case .refuseHead: refuse(.malformed("took too long"))
        case .stopWaiting: endWait()
        case .endExchange: exchange?.timedOut()
        case .close: context?.close(promise: nil)
        }
        noteDeadline()
    }

    /// The client keeps a place, and what waits for it, for longer than it may.
    private func endSlowReader() {
        if let exchange { return exchange.clientIsTooSlow() }
        worker.gateway.metrics.countRefusal("slow reader")
        state.abort()
        context?.close(promise: nil)
    }

    /// The gateway stops: ends what it can without harm.
    func closeIfIdle() {
        if state.phase == .tunnel { exchange?.goAway() }
        if state.isIdle(hasInput: input.readableBytes > 0) { linger() }
    }
}
