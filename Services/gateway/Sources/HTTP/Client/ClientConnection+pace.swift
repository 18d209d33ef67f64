import NIOCore

/// What waits for the client to take it.
extension ClientConnection {
    /// Whether more of a response may be read for the client.
    var takesResponse: Bool { isWritable && (state.waiting == 0 || state.waiting < worker.output.allowance) }

    /// Looks whether what was just written waits. Of a response that the system takes whole this is all that there is.
    func lookAfterWriting() {
        guard waitingNow > 0 || state.waiting > 0 else { return }
        _ = look(now: worker.now)
    }

    /// - Returns: whether the client takes its responses fast enough.
    func look(now: Int64) -> Bool {
        let waiting = waitingNow
        worker.output.change(by: waiting - state.waiting)
        let isFast = state.look(waiting: waiting, at: now)
        if waiting > 0 {
            awaitTaking()
            noteDeadline()
        }
        return isFast
    }

    private var waitingNow: Int { stream?.waiting ?? context?.channel.waitingBytes ?? 0 }

    /// Has `hasTaken` called when what waits now does so no more. A stream does that by itself.
    private func awaitTaking() {
        guard stream == nil, !awaitsTaking, let context else { return }
        awaitsTaking = true
        context.whenTaken {
            self.awaitsTaking = false
            self.hasTaken()
        }
    }

    /// The client has taken bytes that waited.
    func hasTaken() {
        guard context != nil else { return }
        let now = worker.now
        _ = look(now: now)
        state.taken(at: now)
        noteDeadline()
        exchange?.clientIsWritable()
    }
}
