import Contracts
import NIOCore

/// What a client is answered, and what becomes of the connection then.
extension ClientConnection {
    /// Whether the present answer is to say that it is the connection's last.
    func decideToClose() -> Bool {
        if case .body = phase { closesAfterResponse = true }
        if worker.gateway.isDraining { closesAfterResponse = true }
        return closesAfterResponse
    }

    func write(_ bytes: ByteBuffer) {
        guard let context else { return }
        written += bytes.readableBytes
        if let before = output.add(bytes) { context.write(wrapOutboundOut(before), promise: nil) }
    }

    func flush() {
        guard let bytes = output.take() else { return }
        context?.writeAndFlush(wrapOutboundOut(bytes), promise: nil)
        lookAfterWriting()
    }

    /// The answer of `exchange` is written whole.
    func responseEnded() {
        leaveExchange()
        endRequest()
        process()
        flush()
        exchange?.flushUpstream()
    }

    /// The request of `exchange` gets an answer of the gateway's instead of an upstream's.
    func respondInstead(_ response: LocalResponse, requestID: [UInt8], isHead: Bool) {
        let closes = decideToClose()
        leaveExchange()
        var buffer = ByteBuffer()
        response.write(to: &buffer, requestID: requestID, isHead: isHead, closes: closes, date: worker.dateLine)
        write(buffer)
        endRequest()
        process()
        flush()
        exchange?.flushUpstream()
    }

    /// An answer can't be completed: cutting the connection is the only way to say so.
    func abort() {
        leaveExchange()
        flush()
        phase = .closed
        context?.close(promise: nil)
    }

    func leaveExchange() {
        guard let exchange else { return }
        self.exchange = nil
        worker.requestEnds(of: exchange.address, wasTunnel: exchange.isTunnel)
    }

    func respond(
        _ response: LocalResponse, requestID: [UInt8], isHead: Bool, framing: BodyFraming, closing: Bool
    ) {
        closesAfterResponse = closing
        if case .length(let length) = framing, length > Self.discardLimit { closesAfterResponse = true }
        var buffer = ByteBuffer()
        response.write(
            to: &buffer, requestID: requestID, isHead: isHead, closes: closesAfterResponse, date: worker.dateLine)
        write(buffer)
        if framing != .length(0) { phase = .body(BodyReader(framing)) }
        endRequest()
    }

    /// The request is answered. What is left of its body is read before the connection goes on, or ends.
    func endRequest() {
        if case .body(let reader) = phase, !waitsForContinue {
            discardBody(reader)
        } else if closesAfterResponse {
            linger()
        } else {
            nextRequest()
        }
    }

    func refuse(_ fault: HeadFault) {
        peer.countRequest()
        _ = worker.gateway.addressLimiter?.take(peer.address.key, now: worker.now)
        let requestID = Array(RequestID.make().utf8)
        worker.gateway.metrics.countRefusal(fault.reason)
        worker.tell(
            AccessLine(
                requestID: requestID, client: peer.address, isHTTP2: peer.isHTTP2, status: fault.code.status,
                nanoseconds: 0, refusal: fault.reason))
        // Whatever else is wrong with it, who asked with HEAD takes no body (RFC 9110 §9.3.2).
        let isHead = input.readableBytesView.starts(with: "HEAD ".utf8)
        var buffer = ByteBuffer()
        LocalResponse.refusal(Problem(fault.code), as: .problem, requestID: requestID).write(
            to: &buffer, requestID: requestID, isHead: isHead, closes: true, date: worker.dateLine)
        write(buffer)
        linger()
    }

    func nextRequest() {
        phase = .head
        lookedAt = 0
        closesAfterResponse = false
        let wait = input.readableBytes > 0 ? settings.headTimeout : settings.idleTimeout
        // Nothing more comes on a stream: it has to be read.
        deadline = worker.now + (peer.isHTTP2 ? lingerTimeout : wait.nanoseconds)
    }

    /// Says that nothing more comes, and waits for the client to have read it: a connection that is closed with
    /// unread bytes takes the answer with it.
    func linger() {
        phase = .lingering
        input.clear()
        startLingering(worker.now)
        flush()
        context?.close(mode: .output, promise: nil)
    }

    /// From now on the client has its time.
    func startLingering(_ now: Int64) {
        deadline = now + lingerTimeout
        lingersUntil = now + longestLinger
    }

    var lingerTimeout: Int64 { settings.lingerTimeout.nanoseconds }

    private var longestLinger: Int64 {
        (peer.isOverLimit ? settings.lingerTimeout : settings.longestLinger).nanoseconds
    }

    /// The request has its answer before its body has come. The rest is read for a while and goes nowhere: a client
    /// that still writes may not look for an answer before it has written all.
    private func discardBody(_ reader: BodyReader) {
        phase = .body(reader)
        discarded = 0
        startLingering(worker.now)
    }
}
