import NIOCore

/// A client's connection: reads one request after the other and writes their responses in the same order. A stream of
/// HTTP/2, behind `HTTP2Stream`, is a connection with one request.
///
/// `state` decides what to do next. Bytes that the client sends ahead stay in `input`. While that is full, nothing more
/// is read from the socket.
final class ClientConnection: ChannelDuplexHandler, RemovableChannelHandler, Timed {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// More than the connection reads ahead, plus the bytes of one further read.
    private static let mostInput = 4 * BufferBudget.most

    let worker: Worker
    let peer: ClientPeer
    /// `nil`: the connection speaks HTTP/1.1 and is not a stream of HTTP/2.
    let stream: HTTP2Stream?
    var timerSlot: TimerSlot?
    /// The index in the worker's list; negative when the connection is not in it.
    var workerIndex = -1

    var context: ChannelHandlerContext?
    var state: ClientConnectionMachine
    var input = ByteBuffer()
    /// Bytes of an incomplete head that were scanned.
    var scannedBytes = 0
    /// The reader of the current request's body, once its head is read.
    var body: BodyReader?
    /// The budget for the chunks of the client's bodies; `nil` until a body is chunked.
    var chunkBudget: PieceBudget?
    var exchange: Exchange?
    /// The permit of a request that waits for keys.
    var keyWaitPermit: RequestPermits.Permit?
    /// Whether its request counts as active at `peer`.
    private var isActive = false
    var output = PendingOutput()
    /// Whether `hasTaken` will be called when the client has taken the waiting bytes.
    var awaitsTaking = false
    /// Bytes of the body that wait here and in the exchange, as counted by the budget of the process.
    var bodyWaiting = 0
    private var holdsRead = false
    private var readSize = ReadSize()
    private var isProcessing = false

    /// - Parameter stream: the handler before this one; `nil` where the connection speaks HTTP/1.1.
    init(worker: Worker, peer: ClientPeer, stream: HTTP2Stream? = nil) {
        self.worker = worker
        self.peer = peer
        self.stream = stream
        state = ClientConnectionMachine(times: worker.clientTimes, carriesOneRequest: stream != nil)
    }

    var settings: GatewaySettings { worker.gateway.settings }
    var isWritable: Bool { context?.channel.isWritable ?? false }
    var waitsForKeys: Bool { state.phase == .waitingForKeys }

    // MARK: Channel

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        worker.add(self)
        awaitFirstRequest(isPrepared: !settings.expectsProxyHeader && (!peer.isSecure || peer.isHTTP2))
    }

    /// Begins to wait for the first request, or for the PROXY header or TLS handshake before it.
    func awaitFirstRequest(isPrepared: Bool = true) {
        state.open(isPrepared: isPrepared, isOverLimit: peer.isOverLimit, at: worker.now)
        noteDeadline()
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        worker.remove(self)
        worker.output.change(by: -state.unsentBytes)
        state.forgetUnsentBytes()
        self.context = nil
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = unwrapInboundIn(data)
        let isFirst = input.readableBytes == 0
        let isRead = state.received(isFirst: isFirst, at: worker.now)
        noteDeadline()
        guard isRead else { return }
        if isFirst { input = bytes } else { input.writeBuffer(&bytes) }
        process()
        // The connection requested no read, but once a client has closed, NIO reads everything that the system holds.
        if holdsRead, input.readableBytes > Self.mostInput { context.close(promise: nil) }
    }

    func channelReadComplete(context: ChannelHandlerContext) { flushBothWays() }

    func read(context: ChannelHandlerContext) {
        if !takesInput {
            holdsRead = true
        } else {
            if stream == nil, state.phase == .body || readSize.isSmall {
                readSize.adapt(context.channel, to: worker.requestBodies)
            }
            context.read()
        }
    }

    /// Whether more may be read from the socket.
    private var takesInput: Bool {
        let waiting = input.readableBytes
        guard waiting > 0 else { return true }
        // A head can be parsed only when it is complete.
        return waiting < max(worker.requestBodies.allowance, state.phase == .head ? HeadLimits.bytes : 0)
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        guard context.channel.isWritable else { return }
        _ = checkMinimumRate(now: worker.now)
        if let exchange { return exchange.clientIsWritable() }
        guard state.phase == .head, input.readableBytes > 0 else { return }
        state.headIsReadLate(at: worker.now)
        noteDeadline()
        process()
        flushBothWays()
    }

    func channelInactive(context: ChannelHandlerContext) {
        leaveKeyWait()
        state.closed()
        exchange?.clientIsGone()
        exchange = nil
        becomeIdle(at: worker.now)
        input.clear()
        countBodyWaiting()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    // MARK: Requests

    /// The request has an exchange, or waits for keys or a permit.
    func becomeActive() {
        guard !isActive else { return }
        isActive = true
        peer.requestBegins()
    }

    func becomeIdle(at now: Int64) {
        if isActive {
            isActive = false
            peer.requestEnds()
        }
        peer.noteIdle(at: now)
    }

    /// Processes `input` as far as possible.
    func process() {
        guard !isProcessing else { return }
        isProcessing = true
        var continues = true
        while continues {
            switch state.phase {
            case .head: continues = takesRequest() && readHead()
            case .body, .discardingBody: continues = readBody()
            case .waitingForKeys, .responding: continues = false
            case .tunnel:
                relay()
                continues = false
            case .lingering, .closed:
                input.clear()
                continues = false
            }
        }
        isProcessing = false
        input.releaseIfEmpty()
        if holdsRead, takesInput {
            holdsRead = false
            context?.read()
        }
    }

    /// Whether to read the next request: only if the client has taken enough of the previous responses.
    private func takesRequest() -> Bool {
        if isWritable { return true }
        flush()
        return isWritable
    }
}

/// Handles timeouts and shutdown.
extension ClientConnection {
    /// When to call `timedOut`; nanoseconds of the worker's clock.
    var deadline: Int64 { state.deadline }

    func noteDeadline() { if workerIndex >= 0 { worker.note(self) } }

    /// Sets the deadline for the next step of the exchange; nanoseconds of the worker's clock.
    func allow(until deadline: Int64) {
        state.allow(until: deadline)
        noteDeadline()
    }

    /// A part of a response or of a WebSocket has arrived.
    func extendStream() {
        state.extendStream(at: worker.now)
        noteDeadline()
    }

    func timedOut(now: Int64) {
        let isFast = checkMinimumRate(now: now)
        let action = state.timedOut(
            isFast: isFast, isWritable: isWritable, hasInput: input.readableBytes > 0,
            hasResponse: exchange?.state.hasResponse ?? false,
            isUndelivered: { stream == nil && context?.channel.hasDelivered == false }, at: now)
        switch action {
        case .goOn: break
        case .endSlowReader: endSlowReader()
        case .resetStream: stream?.resetUnread()
        case .refuseHead: refuse(.malformed("took too long"))
        case .endKeyWait: endKeyWait()
        case .endExchange: exchange?.timedOut()
        case .close: context?.close(promise: nil)
        }
        noteDeadline()
    }

    /// Ends the exchange or, without one, the connection, because the client takes its response too slowly.
    private func endSlowReader() {
        if let exchange { return exchange.clientIsTooSlow() }
        worker.gateway.metrics.countRefusal("slow reader")
        state.abort()
        context?.close(promise: nil)
    }

    /// Closes the connection at shutdown if no request is active.
    func closeIfIdle() {
        if state.phase == .tunnel { exchange?.goAway() }
        if state.isIdle(hasInput: input.readableBytes > 0) { linger() }
    }
}

/// Tracks the bytes that wait for the client.
extension ClientConnection {
    /// Whether more of a response may be read for the client.
    var takesResponse: Bool { isWritable && (state.unsentBytes == 0 || state.unsentBytes < worker.output.allowance) }

    /// Checks whether bytes that were just written wait. A response that the system accepts at once gets no other
    /// check.
    func checkMinimumRateAfterWriting() {
        guard unsentBytesNow > 0 || state.unsentBytes > 0 else { return }
        _ = checkMinimumRate(now: worker.now)
    }

    /// - Returns: whether the client takes its responses at the minimum rate.
    func checkMinimumRate(now: Int64) -> Bool {
        let unsentBytes = unsentBytesNow
        worker.output.change(by: unsentBytes - state.unsentBytes)
        let isFast = state.update(unsentBytes: unsentBytes, at: now)
        if unsentBytes > 0 {
            awaitTaking()
            noteDeadline()
        }
        return isFast
    }

    private var unsentBytesNow: Int { stream?.waiting ?? context?.channel.waitingBytes ?? 0 }

    /// Calls `hasTaken` once the waiting bytes have been taken. A stream calls it by itself.
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
        _ = checkMinimumRate(now: now)
        state.taken(at: now)
        noteDeadline()
        exchange?.clientIsWritable()
    }
}
