import Contracts
import NIOCore

/// What a client is sent, and what becomes of the connection then.
extension ClientConnection {
    func write(_ bytes: ByteBuffer) {
        guard let context else { return }
        state.wrote(bytes.readableBytes)
        if let before = output.add(bytes) { context.write(wrapOutboundOut(before), promise: nil) }
    }

    func flush() {
        guard let bytes = output.take() else { return }
        context?.writeAndFlush(wrapOutboundOut(bytes), promise: nil)
        lookAfterWriting()
    }

    func flushBothWays() {
        flush()
        exchange?.flushUpstream()
        countBodyWaiting()
    }

    /// Whether the response of `exchange`, whose head is about to be written, says that it is the connection's last.
    func decideToClose() -> Bool { state.decideToClose(isDraining: worker.gateway.isDraining) }

    /// The response of `exchange` is written whole.
    func responseEnded() {
        leaveExchange()
        finishResponse()
        process()
        flushBothWays()
    }

    /// The gateway responds in place of the upstream of `exchange`.
    func respondInstead(_ response: LocalResponse, requestID: [UInt8], isHead: Bool) {
        let closes = decideToClose()
        write(response, requestID: requestID, isHead: isHead, closes: closes)
        responseEnded()
    }

    /// A response can't be completed: cutting the connection is the only way to say so.
    func abort() {
        leaveExchange()
        flush()
        state.abort()
        context?.close(promise: nil)
    }

    /// The upstream has nothing more to say.
    func tunnelEnded() {
        leaveExchange()
        linger()
    }

    private func leaveExchange() {
        guard let exchange = exchange.take() else { return }
        exchange.leavePlaces()
        countBodyWaiting()
    }

    func write(_ response: LocalResponse, requestID: [UInt8], isHead: Bool, closes: Bool) {
        var buffer = ByteBuffer()
        response.write(to: &buffer, requestID: requestID, isHead: isHead, closes: closes, date: worker.dateLine)
        write(buffer)
        if let document = response.document(toHead: isHead) { write(document) }
    }

    /// A response is written whole, or what was left of its request's body is read.
    func finishResponse() {
        let now = worker.now
        if stream == nil { peer.place.becomesIdle(at: now) }
        switch state.responseEnded(hasInput: input.readableBytes > 0, at: now) {
        case .readNextRequest: lookedAt = 0
        case .discardBody: break
        case .linger: endOutput()
        }
        noteDeadline()
    }

    func refuse(_ fault: HeadFault) {
        peer.countMalformed(now: worker.now)
        let requestID = Array(RequestID.make().utf8)
        worker.gateway.metrics.countRefusal(fault.reason)
        worker.tell(
            AccessLine(
                requestID: requestID, client: peer.address, isHTTP2: peer.isHTTP2, status: fault.code.status,
                nanoseconds: 0, refusal: fault.reason))
        // Whatever else is wrong with it, who asked with HEAD takes no body (RFC 9110 §9.3.2).
        let isHead = input.readableBytesView.starts(with: "HEAD ".utf8)
        write(
            .refusal(Problem(fault.code), as: .problem, requestID: requestID), requestID: requestID, isHead: isHead,
            closes: true)
        linger()
    }

    /// Nothing more will be written. The connection is closed once the client may have read what was.
    func linger() {
        state.linger(at: worker.now)
        noteDeadline()
        endOutput()
    }

    private func endOutput() {
        input.clear()
        flush()
        context?.close(mode: .output, promise: nil)
    }
}
