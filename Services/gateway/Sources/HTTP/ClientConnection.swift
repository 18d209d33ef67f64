import Contracts
import NIOCore
import Synchronization

/// A client's connection: takes requests off it one after the other and puts their answers on it in the same order.
///
/// What a client sends ahead stays in `input`; when that is full, nothing more is read from the socket.
final class ClientConnection: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private enum Phase {
        case head
        case waitingForKeys
        /// A request's body; it goes to `exchange`, or nowhere when the request has its answer already.
        case body(BodyReader)
        /// The request is read, its answer is not complete.
        case answering
        /// The last answer is written; what still comes is thrown away.
        case lingering
        case closed
    }

    /// Bytes that are read ahead of what is dealt with.
    private static let inputLimit = 64 * 1024
    /// A connection is kept after a body that went nowhere if that was no longer than this, in bytes.
    private static let discardLimit = 64 * 1024

    let worker: Worker
    private(set) var peer = ClientAddress.unknown
    /// When `timedOut` is to be called; nanoseconds of the worker's clock.
    var deadline = Int64.max
    /// In the worker's list.
    var place = -1

    /// Whether there were too many connections already when this one came.
    private(set) var isOverLimit = false

    private var context: ChannelHandlerContext?
    private var input = ByteBuffer()
    private var phase = Phase.head
    private var exchange: Exchange?
    /// Bytes of an incomplete head that were looked at.
    private var lookedAt = 0
    private var closesAfterAnswer = false
    /// The client sends the body only when told to (RFC 9110 §10.1.1), which it has not been.
    private var waitsForContinue = false
    private var discarded = 0
    private var holdsRead = false
    private var lingersUntil: Int64 = 0
    private var hasWaitedForKeys = false
    private var isProcessing = false
    private var needsFlush = false

    init(worker: Worker) { self.worker = worker }

    private var settings: GatewaySettings { worker.gateway.settings }
    var isWaitingForKeys: Bool { if case .waitingForKeys = phase { true } else { false } }

    // MARK: Channel

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        worker.add(self)
        let open = worker.gateway.openConnections.wrappingAdd(1, ordering: .relaxed).newValue
        isOverLimit = open > settings.maximumConnections
        deadline = worker.now + settings.idleTimeout.nanoseconds
    }

    func channelActive(context: ChannelHandlerContext) {
        peer = ClientAddress(context.remoteAddress)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        worker.remove(self)
        worker.gateway.openConnections.wrappingSubtract(1, ordering: .relaxed)
        self.context = nil
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = unwrapInboundIn(data)
        switch phase {
        case .lingering:
            deadline = min(lingersUntil, worker.now + settings.lingerTimeout.nanoseconds)
            return
        case .closed: return
        case .body where exchange == nil:
            deadline = min(lingersUntil, worker.now + settings.lingerTimeout.nanoseconds)
        default: break
        }
        if input.readableBytes == 0 {
            input = bytes
            if case .head = phase { deadline = worker.now + settings.headTimeout.nanoseconds }
        } else {
            input.writeBuffer(&bytes)
        }
        process()
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        flush()
        exchange?.flushUpstream()
    }

    func read(context: ChannelHandlerContext) {
        if input.readableBytes >= Self.inputLimit { holdsRead = true } else { context.read() }
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable { exchange?.clientIsWritable() }
    }

    func channelInactive(context: ChannelHandlerContext) {
        phase = .closed
        deadline = .max
        exchange?.clientIsGone()
        exchange = nil
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    var isWritable: Bool { context?.channel.isWritable ?? false }

    // MARK: Requests

    private func process() {
        guard !isProcessing else { return }
        isProcessing = true
        var goesOn = true
        while goesOn {
            switch phase {
            case .head: goesOn = readHead()
            case .body: goesOn = readBody()
            case .waitingForKeys, .answering: goesOn = false
            case .lingering, .closed:
                input.clear()
                goesOn = false
            }
        }
        isProcessing = false
        if holdsRead, input.readableBytes < Self.inputLimit {
            holdsRead = false
            context?.read()
        }
    }

    private enum HeadOutcome {
        case incomplete
        case admitted(Admission, length: Int)
        case fault(HeadFault)
    }

    /// - Returns: whether there may be more to do.
    private func readHead() -> Bool {
        guard input.readableBytes > 0 else { return false }
        let outcome = input.withUnsafeReadableBytes { bytes in
            do throws(HeadFault) {
                // A head that comes in crumbs is not scanned again for each.
                guard lookedAt == 0 || mayBeComplete(bytes) else { return HeadOutcome.incomplete }
                guard let length = try worker.requestHead.scan(bytes) else { return .incomplete }
                let head = UnsafeRawBufferPointer(rebasing: bytes[..<length])
                let admission = worker.admit(head, from: self, mayWaitForKeys: !hasWaitedForKeys)
                return .admitted(admission, length: length)
            } catch {
                return .fault(error)
            }
        }
        switch outcome {
        case .incomplete:
            lookedAt = input.readableBytes
            return false
        case .fault(let fault):
            refuse(fault)
            return true
        case .admitted(.waitForKeys, _):
            phase = .waitingForKeys
            deadline = worker.now + Duration.seconds(6).nanoseconds
            return false
        case .admitted(let admission, let length):
            input.moveReaderIndex(forwardBy: length)
            lookedAt = 0
            hasWaitedForKeys = false
            let head = worker.requestHead
            waitsForContinue = head.fields.expect != nil
            let asksToClose = head.fields.saysClose || worker.gateway.isDraining
            switch admission {
            case .forward(let exchange): start(exchange, closing: asksToClose)
            case .answer(let answer, let requestID):
                answerLocally(
                    answer, requestID: requestID, isHead: head.method == .head, framing: head.framing,
                    closing: asksToClose || waitsForContinue || isOverLimit)
            case .waitForKeys: break
            }
            return true
        }
    }

    /// Whether an incomplete head, with what has come since, has an end or a bare LF to be refused for.
    private func mayBeComplete(_ bytes: UnsafeRawBufferPointer) -> Bool {
        if bytes.count >= HeadLimits.bytes { return true }
        for index in lookedAt..<bytes.count where bytes[index] == .lineFeed {
            if index == 0 || bytes[index - 1] != .carriageReturn { return true }
            if index >= 3, bytes[index - 2] == .lineFeed { return true }
        }
        lookedAt = bytes.count
        return false
    }

    private func start(_ exchange: Exchange, closing: Bool) {
        self.exchange = exchange
        closesAfterAnswer = closing
        deadline = exchange.deadline
        worker.requestsInFlight += 1
        phase = exchange.hasBody ? .body(BodyReader(exchange.framing)) : .answering
        exchange.start()
    }

    private func readBody() -> Bool {
        if let exchange, !exchange.takesBody { return false }
        guard case .body(var reader) = phase else { return false }
        // Released for as long as the reader is changed.
        phase = .answering
        let part: BodyReader.Part?
        do throws(HeadFault) {
            part = try reader.next(from: &input)
        } catch {
            closesAfterAnswer = true
            if let exchange { exchange.requestIsMalformed() } else { linger() }
            return true
        }
        switch part {
        case nil:
            phase = .body(reader)
            return false
        case .data(let bytes):
            phase = .body(reader)
            if let exchange {
                exchange.send(bytes)
            } else {
                discarded += bytes.readableBytes
                if discarded > Self.discardLimit { closesAfterAnswer = true }
            }
        case .end(let trailers):
            if let exchange { exchange.endRequest(trailers: trailers) } else { endRequest() }
        }
        return true
    }

    /// The request has its answer before its body has come. The rest is read for a while and goes nowhere: a client
    /// that still writes may not look for an answer before it has written all.
    private func discardBody(_ reader: BodyReader) {
        phase = .body(reader)
        discarded = 0
        let now = worker.now
        lingersUntil = now + settings.longestLinger.nanoseconds
        deadline = now + settings.lingerTimeout.nanoseconds
    }

    /// An upstream is there to take the body.
    func bodyMayFlow(afterContinue: Bool) {
        waitsForContinue = false
        if afterContinue, input.readableBytes == 0 {
            var buffer = ByteBuffer()
            buffer.writeStaticString("HTTP/1.1 100 Continue\r\n\r\n")
            write(buffer)
            flush()
        }
        process()
    }

    func keysChanged() {
        phase = .head
        lookedAt = 0
        process()
        flush()
        exchange?.flushUpstream()
    }

    // MARK: Answers

    /// Whether the present answer is to say that it is the connection's last.
    func decideToClose() -> Bool {
        if case .body = phase { closesAfterAnswer = true }
        if worker.gateway.isDraining { closesAfterAnswer = true }
        return closesAfterAnswer
    }

    func write(_ bytes: ByteBuffer) {
        guard let context else { return }
        context.write(wrapOutboundOut(bytes), promise: nil)
        needsFlush = true
    }

    func flush() {
        guard needsFlush else { return }
        needsFlush = false
        context?.flush()
    }

    /// The answer of `exchange` is written whole.
    func answerEnded() {
        leaveExchange()
        endRequest()
        process()
        flush()
        exchange?.flushUpstream()
    }

    /// The request of `exchange` gets an answer of the gateway's instead of an upstream's.
    func answerInstead(_ answer: LocalAnswer, requestID: [UInt8], isHead: Bool) {
        let closes = decideToClose()
        leaveExchange()
        var buffer = ByteBuffer()
        answer.write(to: &buffer, requestID: requestID, isHead: isHead, closes: closes)
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

    private func leaveExchange() {
        guard exchange != nil else { return }
        exchange = nil
        worker.requestsInFlight -= 1
    }

    private func answerLocally(
        _ answer: LocalAnswer, requestID: [UInt8], isHead: Bool, framing: BodyFraming, closing: Bool
    ) {
        closesAfterAnswer = closing
        if case .length(let length) = framing, length > Self.discardLimit { closesAfterAnswer = true }
        var buffer = ByteBuffer()
        answer.write(to: &buffer, requestID: requestID, isHead: isHead, closes: closesAfterAnswer)
        write(buffer)
        if framing != .length(0) { phase = .body(BodyReader(framing)) }
        endRequest()
    }

    /// The request is answered. What is left of its body is read before the connection goes on, or ends.
    private func endRequest() {
        if case .body(let reader) = phase, !waitsForContinue {
            discardBody(reader)
        } else if closesAfterAnswer {
            linger()
        } else {
            nextRequest()
        }
    }

    private func refuse(_ fault: HeadFault) {
        let requestID = Array(RequestID.make().utf8)
        let problem: Problem
        switch fault {
        case .malformed(let reason):
            problem = Problem(.invalidRequest)
            worker.gateway.metrics.refused("malformed: \(reason)")
        case .tooLarge:
            problem = Problem(.headersTooLarge)
            worker.gateway.metrics.refused(problem.code.rawValue)
        }
        var buffer = ByteBuffer()
        LocalAnswer.problem(problem, requestID: requestID).write(
            to: &buffer, requestID: requestID, isHead: false, closes: true)
        write(buffer)
        linger()
    }

    private func nextRequest() {
        phase = .head
        lookedAt = 0
        closesAfterAnswer = false
        let wait = input.readableBytes > 0 ? settings.headTimeout : settings.idleTimeout
        deadline = worker.now + wait.nanoseconds
    }

    /// Says that nothing more comes, and waits for the client to have read it: a connection that is closed with
    /// unread bytes takes the answer with it.
    private func linger() {
        phase = .lingering
        input.clear()
        let now = worker.now
        deadline = now + settings.lingerTimeout.nanoseconds
        lingersUntil = now + settings.longestLinger.nanoseconds
        needsFlush = false
        context?.flush()
        context?.close(mode: .output, promise: nil)
    }

    // MARK: Time

    func timedOut(now: Int64) {
        switch phase {
        case .head:
            if input.readableBytes > 0 { refuse(.malformed("took too long")) } else { context?.close(promise: nil) }
        case .waitingForKeys:
            hasWaitedForKeys = true
            keysChanged()
        case .body, .answering:
            if let exchange {
                exchange.timedOut()
            } else {
                context?.close(promise: nil)
            }
        case .lingering, .closed: context?.close(promise: nil)
        }
        if deadline <= now { deadline = now + settings.lingerTimeout.nanoseconds }
    }

    func closeIfIdle() {
        if case .head = phase, input.readableBytes == 0 { linger() }
    }
}
