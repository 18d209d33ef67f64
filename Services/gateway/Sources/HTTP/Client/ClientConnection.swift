import Contracts
import NIOCore

/// A client's connection: takes requests off it one after the other and puts their answers on it in the same order.
/// A stream of HTTP/2 is, behind `HTTP2Stream`, a connection with one request.
///
/// What a client sends ahead stays in `input`; when that is full, nothing more is read from the socket.
final class ClientConnection: ChannelDuplexHandler, RemovableChannelHandler, Timed {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    enum Phase {
        case head
        case waitingForKeys
        /// A request's body; it goes to `exchange`, or nowhere when the request has its answer already.
        case body(BodyReader)
        /// The request is read, its answer is not complete.
        case responding
        /// Bytes of a WebSocket go both ways.
        case tunnel
        /// The last answer is written; what still comes is thrown away.
        case lingering
        case closed
    }

    /// Bytes that are read ahead of what is dealt with.
    private static let inputLimit = 64 * 1024
    /// More than what one read brings beyond that.
    private static let mostInput = 4 * inputLimit
    /// A connection is kept after a body that went nowhere if that was no longer than this, in bytes.
    static let discardLimit = 64 * 1024

    let worker: Worker
    let peer: ClientPeer
    /// When `timedOut` is to be called; nanoseconds of the worker's clock. It is set to when the time of the present
    /// phase ends.
    var deadline: Int64 {
        get { isClosed ? phaseDeadline : min(phaseDeadline, pace.deadline) }
        set {
            phaseDeadline = newValue
            noteDeadline()
        }
    }
    private(set) var phaseDeadline = Int64.max
    var timerPlace: TimerPlace?
    /// In the worker's list; below 0 when it is not there.
    var place = -1

    var context: ChannelHandlerContext?
    var input = ByteBuffer()
    var phase = Phase.head
    var exchange: Exchange?
    /// Bytes of an incomplete head that were looked at.
    var lookedAt = 0
    var closesAfterResponse = false
    /// The client sends the body only when told to (RFC 9110 §10.1.1), which it has not been.
    var waitsForContinue = false
    var discarded = 0
    private var holdsRead = false
    var lingersUntil: Int64 = 0
    /// Since when the present request waits for keys, and until when it may; it has a place in flight meanwhile.
    var keyWait: KeyWait?
    private var isProcessing = false
    var output = PendingOutput()
    /// Bytes that were given to the connection so far.
    var written = 0
    /// Of them those that the client had still to take when that was looked at.
    var waiting = 0
    var pace: ReadingPace
    /// Whether it will be told when the client has taken what waits.
    var awaitsTaking = false
    /// Where the connection is a stream of HTTP/2.
    let stream: HTTP2Stream?

    /// - Parameter stream: the handler before this one; `nil` where the connection speaks HTTP/1.1.
    init(worker: Worker, peer: ClientPeer, stream: HTTP2Stream? = nil) {
        self.worker = worker
        self.peer = peer
        self.stream = stream
        pace = ReadingPace(worker.gateway.settings)
    }

    var settings: GatewaySettings { worker.gateway.settings }
    var isClosed: Bool { if case .closed = phase { true } else { false } }
    var isWaitingForKeys: Bool { if case .waitingForKeys = phase { true } else { false } }

    func noteDeadline() { if place >= 0 { worker.timers.note(self) } }

    // MARK: Channel

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        worker.add(self)
        wait(isPrepared: !settings.expectsProxyHeader && (!peer.isSecure || peer.isHTTP2))
    }

    /// Begins to wait for the first request, or for what has to come before it.
    func wait(isPrepared: Bool = true) {
        let wait = isPrepared ? settings.idleTimeout : settings.headTimeout
        deadline = worker.now + (peer.isOverLimit ? settings.overLimitTimeout : wait).nanoseconds
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        worker.remove(self)
        noteWaiting(0)
        self.context = nil
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = unwrapInboundIn(data)
        switch phase {
        case .lingering:
            deadline = min(lingersUntil, worker.now + lingerTimeout)
            return
        case .closed: return
        case .body where exchange == nil:
            deadline = min(lingersUntil, worker.now + lingerTimeout)
        default: break
        }
        if input.readableBytes == 0 {
            input = bytes
            if case .head = phase, !peer.isOverLimit { deadline = worker.now + settings.headTimeout.nanoseconds }
        } else {
            input.writeBuffer(&bytes)
        }
        process()
        // Nothing was asked for: NIO reads what the system holds once a client has closed, however much that is.
        if holdsRead, input.readableBytes > Self.mostInput { context.close(promise: nil) }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        flush()
        exchange?.flushUpstream()
    }

    func read(context: ChannelHandlerContext) {
        if input.readableBytes >= Self.inputLimit { holdsRead = true } else { context.read() }
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        guard context.channel.isWritable else { return }
        _ = look(now: worker.now)
        if let exchange { return exchange.clientIsWritable() }
        guard case .head = phase, input.readableBytes > 0 else { return }
        deadline = worker.now + settings.headTimeout.nanoseconds
        process()
        flush()
        self.exchange?.flushUpstream()
    }

    func channelInactive(context: ChannelHandlerContext) {
        if isWaitingForKeys { leaveKeyWait() }
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

    func process() {
        guard !isProcessing else { return }
        isProcessing = true
        var goesOn = true
        while goesOn {
            switch phase {
            case .head: goesOn = takesRequest() && readHead()
            case .body: goesOn = readBody()
            case .waitingForKeys, .responding: goesOn = false
            case .tunnel:
                relay()
                goesOn = false
            case .lingering, .closed:
                input.clear()
                goesOn = false
            }
        }
        isProcessing = false
        input.letGoIfEmpty()
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

    /// Whether the client has read enough of the answers before for another request to be looked at.
    private func takesRequest() -> Bool {
        if isWritable { return true }
        flush()
        return isWritable
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
                let admission = worker.admit(head, from: self, mayWaitForKeys: keyWait?.isOver != true)
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
        case .admitted(.waitForKeys(let address), _):
            waitForKeys(of: address)
            return false
        case .admitted(let admission, let length):
            input.moveReaderIndex(forwardBy: length)
            lookedAt = 0
            keyWait = nil
            let head = worker.requestHead
            waitsForContinue = head.fields.expect != nil
            peer.countRequest()
            let asksToClose = head.fields.saysClose || worker.gateway.isDraining || peer.hasHadAllRequests
            switch admission {
            case .forward(let exchange): start(exchange, closing: asksToClose)
            case .respond(let response, let requestID):
                respond(
                    response, requestID: requestID, isHead: head.method == .head, framing: head.framing,
                    closing: asksToClose || waitsForContinue || peer.isOverLimit)
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
        closesAfterResponse = closing
        pace.begin()
        deadline = exchange.deadline
        worker.requestBegins(of: exchange.address)
        phase = exchange.hasBody ? .body(exchange.bodyReader) : .responding
        exchange.start()
    }

    private func readBody() -> Bool {
        if let exchange, !exchange.takesBody { return false }
        guard case .body(var reader) = phase else { return false }
        // Released for as long as the reader is changed.
        phase = .responding
        let part: BodyReader.Part?
        do throws(HeadFault) {
            part = try reader.next(from: &input)
        } catch {
            closesAfterResponse = true
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
                if discarded > Self.discardLimit { closesAfterResponse = true }
            }
        case .end(let trailers):
            if let exchange { exchange.sendEnd(trailers: trailers) } else { endRequest() }
        }
        return true
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
}
