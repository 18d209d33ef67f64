import GatehouseServiceContracts
import NIOCore

/// Reads the requests of a client.
extension ClientConnection {
    private enum HeadOutcome {
        case incomplete
        case admitted(AdmissionResult, length: Int)
        case fault(HeadFault)
    }

    /// - Returns: whether there may be more to do.
    func readHead() -> Bool {
        guard input.readableBytes > 0 else { return false }
        let outcome = input.withUnsafeReadableBytes { bytes in
            do throws(HeadFault) {
                // A head that arrives in small pieces is not scanned again for each piece.
                guard scannedBytes == 0 || mayBeComplete(bytes) else { return HeadOutcome.incomplete }
                guard let length = try worker.requestHead.scan(bytes) else { return .incomplete }
                let head = UnsafeRawBufferPointer(rebasing: bytes[..<length])
                let admission = RequestAdmission.admit(head, from: self, mayWaitForKeys: state.mayWaitForKeys)
                return .admitted(admission, length: length)
            } catch {
                return .fault(error)
            }
        }
        switch outcome {
        case .incomplete:
            scannedBytes = input.readableBytes
            return false
        case .fault(let fault):
            refuse(fault)
            return true
        case .admitted(.waitForKeys(let permit, let arrivedAt), _):
            waitForKeys(holding: permit, arrivedAt: arrivedAt)
            return false
        case .admitted(let admission, let length):
            input.moveReaderIndex(forwardBy: length)
            scannedBytes = 0
            peer.countRequest()
            let head = worker.requestHead
            let closes = head.fields.hasCloseOption || worker.gateway.isDraining || peer.hasReachedRequestLimit
            switch admission {
            case .forward(let exchange):
                forward(exchange, expectsContinue: head.fields.expect != nil, closes: closes)
            case .respond(let response, let requestID):
                if head.framing != .length(0) { body = BodyReader(head.framing) }
                state.respond(
                    bodyLength: head.framing.length, expectsContinue: head.fields.expect != nil, closes: closes)
                write(
                    response, requestID: requestID, isHead: head.method == .head, closes: state.closesAfterResponse)
                finishResponse()
            case .waitForKeys: break
            }
            return true
        }
    }

    /// Whether the bytes that have arrived since the last scan contain the end of the head, or a bare LF, which is
    /// refused.
    private func mayBeComplete(_ bytes: UnsafeRawBufferPointer) -> Bool {
        if bytes.count >= HeadLimits.bytes { return true }
        for index in scannedBytes..<bytes.count where bytes[index] == .lineFeed {
            if index == 0 || bytes[index - 1] != .carriageReturn { return true }
            if index >= 3, bytes[index - 2] == .lineFeed { return true }
        }
        scannedBytes = bytes.count
        return false
    }

    private func forward(_ exchange: Exchange, expectsContinue: Bool, closes: Bool) {
        self.exchange = exchange
        becomeActive()
        let hasBody = exchange.state.hasBody
        if hasBody { body = exchange.bodyReader }
        state.forward(
            hasBody: hasBody, expectsContinue: expectsContinue, closes: closes, until: exchange.state.deadline)
        noteDeadline()
        exchange.begin()
    }

    /// - Returns: whether there may be more to do.
    func readBody() -> Bool {
        if let exchange, !exchange.upstreamAcceptsBody { return false }
        let part: BodyReader.Part?
        do throws(HeadFault) {
            part = try body?.next(from: &input)
        } catch {
            state.bodyIsMalformed()
            if let exchange { exchange.requestIsMalformed() } else { linger() }
            return true
        }
        switch part {
        case nil:
            if let exchange, exchange.state.phase == .buffering { allow(until: exchange.state.nextDeadline) }
            return false
        case .data(let bytes):
            guard admitsChunks(of: bytes.readableBytes) else {
                state.bodyIsMalformed()
                if let exchange { exchange.refuse(Problem(.invalidRequest), reason: "chunks") } else { linger() }
                return true
            }
            if let exchange { exchange.send(bytes) } else { state.discarded(bytes.readableBytes) }
        case .end(let trailers):
            body = nil
            guard let exchange else {
                finishResponse()
                return true
            }
            state.bodyEnded()
            exchange.sendEnd(trailers: trailers)
        }
        return true
    }

    /// Counts the chunks of a part of a body. On HTTP/2, the frame guard has counted the DATA frames already.
    private func admitsChunks(of bytes: Int) -> Bool {
        guard stream == nil, let chunks = body?.takeChunks(), chunks > 0 else { return true }
        var budget = chunkBudget ?? PieceBudget(bytesPerPiece: PieceBudget.bytesPerChunk, now: worker.now)
        defer { chunkBudget = budget }
        return budget.take(chunks, bytes: bytes, now: worker.now)
    }

    /// Counts the bytes of the body that wait here, in the exchange and in the upstream's socket.
    func countBodyWaiting() {
        var waiting = input.readableBytes
        if let exchange, exchange.state.hasBody { waiting += exchange.measureBody() }
        guard waiting != bodyWaiting else { return }
        worker.requestBodies.change(by: waiting - bodyWaiting)
        bodyWaiting = waiting
    }

    /// The body may be read: the exchange buffers it, or an upstream takes it.
    func bodyMayFlow(afterContinue: Bool) {
        state.bodyMayFlow()
        if afterContinue, input.readableBytes == 0 {
            var buffer = ByteBuffer()
            buffer.writeStaticString("HTTP/1.1 100 Continue\r\n\r\n")
            write(buffer)
            flush()
        }
        process()
    }

    // MARK: Keys

    /// Waits for the keys that the request's token needs.
    private func waitForKeys(holding permit: RequestPermits.Permit, arrivedAt: Int64) {
        keyWaitPermit = permit
        becomeActive()
        state.waitForKeys(for: worker.clientTimes.keys, arrivedAt: arrivedAt, at: worker.now)
        noteDeadline()
    }

    func leaveKeyWait() {
        if let permit = keyWaitPermit.take() { worker.gateway.permits.release(permit) }
    }

    /// Admits or refuses the request, because the keys have been fetched or the wait has timed out.
    func endKeyWait() {
        leaveKeyWait()
        becomeIdle(at: worker.now)
        state.endKeyWait()
        scannedBytes = 0
        process()
        flushBothWays()
    }

    // MARK: WebSocket

    /// Relays bytes from now on, without parsing them.
    func beginTunnel() {
        state.tunnelBegan()
        // The bytes that the client sent ahead.
        process()
        countBodyWaiting()
    }

    /// Relays the input as far as the upstream takes it. The rest waits in `input`, and then in the socket.
    func relay() {
        guard let exchange, exchange.upstreamAcceptsBody, input.readableBytes > 0 else { return }
        let bytes = input
        input = ByteBuffer()
        exchange.relay(bytes)
    }
}

/// Writes responses to the client, and decides whether the connection continues.
extension ClientConnection {
    func write(_ bytes: ByteBuffer) {
        guard let context else { return }
        state.wrote(bytes.readableBytes)
        if let before = output.add(bytes) { context.write(wrapOutboundOut(before), promise: nil) }
    }

    func flush() {
        guard let bytes = output.take() else { return }
        context?.writeAndFlush(wrapOutboundOut(bytes), promise: nil)
        checkMinimumRateAfterWriting()
    }

    func flushBothWays() {
        flush()
        exchange?.flushUpstream()
        countBodyWaiting()
    }

    /// Decides whether the response of `exchange` is the connection's last. Called before its head is written.
    func decideToClose() -> Bool { state.decideToClose(isDraining: worker.gateway.isDraining) }

    /// The response of `exchange` has been written completely.
    func responseEnded() {
        leaveExchange()
        finishResponse()
        process()
        flushBothWays()
    }

    /// The gateway responds instead of the upstream of `exchange`.
    func respondInstead(_ response: LocalResponse, requestID: [UInt8], isHead: Bool) {
        let closes = decideToClose()
        write(response, requestID: requestID, isHead: isHead, closes: closes)
        responseEnded()
    }

    /// Closes the connection because a response cannot be completed. The client learns it in no other way.
    func abort() {
        leaveExchange()
        flush()
        state.abort()
        context?.close(promise: nil)
    }

    /// The upstream has closed its side of the WebSocket.
    func tunnelEnded() {
        leaveExchange()
        linger()
    }

    private func leaveExchange() {
        guard let exchange = exchange.take() else { return }
        exchange.releasePermits()
        countBodyWaiting()
    }

    func write(_ response: LocalResponse, requestID: [UInt8], isHead: Bool, closes: Bool) {
        var buffer = ByteBuffer()
        response.write(to: &buffer, requestID: requestID, isHead: isHead, closes: closes, date: worker.dateLine)
        write(buffer)
        if let document = response.document(toHead: isHead) { write(document) }
    }

    /// A response has been written completely, or the rest of its request's body has been read.
    func finishResponse() {
        let now = worker.now
        becomeIdle(at: now)
        switch state.responseEnded(hasInput: input.readableBytes > 0, at: now) {
        case .readNextRequest: scannedBytes = 0
        case .discardBody: break
        case .linger: endOutput()
        }
        noteDeadline()
    }

    func refuse(_ fault: HeadFault) {
        peer.countMalformed(now: worker.now)
        let requestID = Array(RequestID.make().utf8)
        worker.gateway.metrics.countRefusal(fault.reason)
        worker.logAccess(
            AccessLine(
                requestID: requestID, client: peer.address, isHTTP2: peer.isHTTP2, status: fault.code.status,
                nanoseconds: 0, refusal: fault.reason))
        // A response to HEAD has no body, even if the head is malformed otherwise (RFC 9110 §9.3.2).
        let isHead = input.readableBytesView.starts(with: "HEAD ".utf8)
        write(
            .refusal(Problem(fault.code), as: .problem, requestID: requestID), requestID: requestID, isHead: isHead,
            closes: true)
        linger()
    }

    /// Writes nothing more, and closes the connection once the client has had time to read what was written.
    func linger() {
        becomeIdle(at: worker.now)
        state.linger(at: worker.now)
        noteDeadline()
        endOutput()
    }

    private func endOutput() {
        input.clear()
        countBodyWaiting()
        flush()
        context?.close(mode: .output, promise: nil)
    }
}
