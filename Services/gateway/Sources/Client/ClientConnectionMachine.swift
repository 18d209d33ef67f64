/// The state machine of a client's connection, without its socket: it receives events and returns the actions.
///
/// Requests come one after the other, and their responses go out in the same order. Times are nanoseconds of a
/// monotonic clock.
struct ClientConnectionMachine: Sendable {
    /// The connection is kept if at most this many bytes of a request body are unread.
    static let discardLimit = 64 * 1024

    private(set) var phase = Phase.head
    /// Whether the current response is the connection's last.
    private(set) var closesAfterResponse = false
    /// Whether the client waits for `100 Continue` before it sends the body (RFC 9110 §10.1.1).
    private(set) var waitsForContinue = false
    /// `false` once the current request has waited for keys for as long as it may.
    private(set) var mayWaitForKeys = true
    /// When the current request arrived; `nil` unless it has waited for keys, or does.
    private(set) var arrivedAt: Int64?
    /// Bytes that were not sent to the client at the last check.
    private(set) var unsentBytes = 0

    private let times: ClientTimes
    /// A stream of HTTP/2 carries one request. After it, the connection is only read to its end.
    private let carriesOneRequest: Bool
    private var isOverLimit = false
    private var phaseDeadline = Int64.max
    private var keyDeadline: Int64?
    private var lingersUntil: Int64 = 0
    private var discarded = 0
    private var written = 0
    private var minimumRate: MinimumRate

    init(times: ClientTimes, carriesOneRequest: Bool = false) {
        self.times = times
        self.carriesOneRequest = carriesOneRequest
        minimumRate = times.minimumRate
    }

    /// When to call `timedOut`.
    var deadline: Int64 { phase == .closed ? phaseDeadline : min(phaseDeadline, minimumRate.deadline) }

    /// Whether the connection carries no request, and may be closed.
    func isIdle(hasInput: Bool) -> Bool { phase == .head && !hasInput }

    /// Begins to wait for the first request, or for the PROXY header or TLS handshake before it.
    ///
    /// - Parameters:
    ///   - isPrepared: whether nothing has to precede the first request.
    ///   - isOverLimit: whether the connection exceeds a limit.
    mutating func open(isPrepared: Bool, isOverLimit: Bool, at now: Int64) {
        self.isOverLimit = isOverLimit
        phaseDeadline = now + (isOverLimit ? times.overLimit : isPrepared ? times.idle : times.head)
    }

    /// The socket is closed.
    mutating func closed() {
        phase = .closed
        phaseDeadline = .max
    }

    /// The socket is closed: unsent bytes are no longer reported.
    mutating func forgetUnsentBytes() { unsentBytes = 0 }

    /// The socket is to be closed at once, in any phase.
    mutating func abort() { phase = .closed }

    // MARK: The request

    /// Bytes have arrived.
    ///
    /// - Parameter isFirst: whether no unread bytes were waiting before them.
    /// - Returns: whether to read them.
    mutating func received(isFirst: Bool, at now: @autoclosure () -> Int64) -> Bool {
        switch phase {
        case .head where isFirst && !isOverLimit: phaseDeadline = now() + times.head
        case .discardingBody: phaseDeadline = min(lingersUntil, now() + times.linger)
        case .lingering:
            phaseDeadline = min(lingersUntil, now() + times.linger)
            return false
        case .closed: return false
        default: break
        }
        return true
    }

    /// A head that had to wait for the client to take the previous responses is read now.
    mutating func headIsReadLate(at now: Int64) { phaseDeadline = now + times.head }

    /// Waits for keys. A request may wait several times. All its waits share one deadline.
    ///
    /// - Parameters:
    ///   - timeout: nanoseconds.
    ///   - arrivedAt: when the request arrived.
    mutating func waitForKeys(for timeout: Int64, arrivedAt: Int64, at now: Int64) {
        self.arrivedAt = arrivedAt
        let until = keyDeadline ?? now + timeout
        keyDeadline = until
        phase = .waitingForKeys
        phaseDeadline = until
    }

    /// The head is admitted again.
    mutating func endKeyWait() { phase = .head }

    /// The request goes to an upstream.
    ///
    /// - Parameters:
    ///   - closes: whether the request is the connection's last in any case.
    ///   - deadline: when its response has to begin.
    mutating func forward(hasBody: Bool, expectsContinue: Bool, closes: Bool, until deadline: Int64) {
        isAdmitted(expectsContinue: expectsContinue)
        closesAfterResponse = closes
        phase = hasBody ? .body : .responding
        phaseDeadline = deadline
        minimumRate.begin()
    }

    /// The gateway responds by itself. The response is about to be written; `responseEnded` is to be called afterwards.
    ///
    /// - Parameter bodyLength: the length of the request's body; `nil`: not known.
    mutating func respond(bodyLength: Int?, expectsContinue: Bool, closes: Bool) {
        isAdmitted(expectsContinue: expectsContinue)
        closesAfterResponse = closes || expectsContinue || isOverLimit || bodyLength ?? 0 > Self.discardLimit
        phase = bodyLength == 0 ? .responding : .body
    }

    private mutating func isAdmitted(expectsContinue: Bool) {
        keyDeadline = nil
        arrivedAt = nil
        mayWaitForKeys = true
        waitsForContinue = expectsContinue
    }

    /// The body may be read.
    mutating func bodyMayFlow() { waitsForContinue = false }

    mutating func discarded(_ bytes: Int) {
        discarded += bytes
        if discarded > Self.discardLimit { closesAfterResponse = true }
    }

    /// The body has been forwarded to the upstream completely.
    mutating func bodyEnded() { phase = .responding }

    /// The body is malformed. Its end is unknown, so nothing after it can be read.
    mutating func bodyIsMalformed() {
        closesAfterResponse = true
        phase = .responding
    }

    mutating func tunnelBegan() { phase = .tunnel }

    // MARK: The response

    /// Decides whether the current response is the connection's last. Called before its head is written.
    mutating func decideToClose(isDraining: Bool) -> Bool {
        if phase == .body || isDraining { closesAfterResponse = true }
        return closesAfterResponse
    }

    /// The response has been written completely, or the rest of the request's body has been discarded.
    ///
    /// The rest of a body is read for a while and discarded, because some clients read no response before they have
    /// written the whole request.
    mutating func responseEnded(hasInput: Bool, at now: @autoclosure () -> Int64) -> AfterResponse {
        if phase == .body, !waitsForContinue {
            phase = .discardingBody
            discarded = 0
            startLingering(at: now())
            return .discardBody
        }
        guard !closesAfterResponse else {
            linger(at: now())
            return .linger
        }
        phase = .head
        phaseDeadline = now() + (carriesOneRequest ? times.linger : hasInput ? times.head : times.idle)
        return .readNextRequest
    }

    /// Ends the connection: nothing more is written, and input is discarded while the client may still be reading. If
    /// the socket were closed with unread input, the system would discard what the client has not read.
    mutating func linger(at now: Int64) {
        phase = .lingering
        startLingering(at: now)
    }

    private mutating func startLingering(at now: Int64) {
        phaseDeadline = now + times.linger
        lingersUntil = now + (isOverLimit ? times.linger : times.longestLinger)
    }

    mutating func wrote(_ bytes: Int) { written += bytes }

    /// - Parameter unsentBytes: those that wait until the client has taken earlier ones.
    /// - Returns: whether it takes its responses at the minimum rate.
    mutating func update(unsentBytes: Int, at now: Int64) -> Bool {
        self.unsentBytes = unsentBytes
        return minimumRate.update(isWaiting: unsentBytes > 0, taken: written - unsentBytes, at: now)
    }

    /// The client has taken bytes, as reported to `update`. The time that it has to read the last bytes begins now.
    mutating func taken(at now: Int64) {
        if unsentBytes == 0, phase == .lingering { startLingering(at: now) }
    }

    // MARK: Time

    /// The exchange sets its own deadline.
    mutating func allow(until deadline: Int64) { phaseDeadline = deadline }

    /// A part of the response has arrived.
    mutating func extendStream(at now: Int64) { phaseDeadline = now + times.stream }

    /// - Parameters:
    ///   - isFast: the last result of `update`.
    ///   - isWritable: whether the socket, or the connection of a stream, takes more.
    ///   - hasInput: whether unread bytes have arrived.
    ///   - hasResponse: whether a response of an upstream has begun.
    ///   - isUndelivered: whether the client's system has not acknowledged all bytes; called only where that matters.
    mutating func timedOut(
        isFast: Bool, isWritable: Bool, hasInput: Bool, hasResponse: Bool, isUndelivered: () -> Bool, at now: Int64
    ) -> AtDeadline {
        guard isFast || phase == .closed else { return .endSlowReader }
        guard phaseDeadline <= now,
            !givesMoreTime(hasResponse: hasResponse, isUndelivered: isUndelivered, at: now)
        else { return .goOn }
        // The default, for actions that set no deadline.
        phaseDeadline = now + times.linger
        switch phase {
        case .head where carriesOneRequest && !isWritable: return .resetStream
        case .head: return hasInput && !isOverLimit ? .refuseHead : .close
        case .waitingForKeys:
            mayWaitForKeys = false
            return .endKeyWait
        case .body, .responding, .tunnel: return .endExchange
        case .discardingBody, .lingering, .closed: return .close
        }
    }

    /// The client's time begins only when it has taken the bytes that wait for it.
    private mutating func givesMoreTime(hasResponse: Bool, isUndelivered: () -> Bool, at now: Int64) -> Bool {
        switch phase {
        case .head where unsentBytes > 0: phaseDeadline = now + times.idle
        case .discardingBody where unsentBytes > 0, .lingering where unsentBytes > 0: startLingering(at: now)
        // The system may still be sending. On a closed connection, it would stop as soon as the client sent anything.
        case .lingering where now < lingersUntil && isUndelivered():
            phaseDeadline = min(lingersUntil, now + times.linger)
        case .body where unsentBytes > 0 && hasResponse, .responding where unsentBytes > 0 && hasResponse,
            .tunnel where unsentBytes > 0 && hasResponse:
            extendStream(at: now)
        default: return false
        }
        return true
    }
}

extension ClientConnectionMachine {
    enum Phase: Sendable, Equatable {
        /// Waits for the head of a request.
        case head
        /// The head is complete and waits for keys that its token needs.
        case waitingForKeys
        /// The request's body is forwarded to the upstream, or dropped if the gateway has answered.
        case body
        /// The response is written; the rest of the request's body is discarded.
        case discardingBody
        /// The request has been read completely; its response is not complete.
        case responding
        /// Bytes of a WebSocket are relayed both ways.
        case tunnel
        /// The last response is written; further input is discarded.
        case lingering
        case closed
    }

    /// The action after a response has been written completely.
    enum AfterResponse: Sendable, Equatable {
        case readNextRequest
        case discardBody
        case linger
    }

    /// The action at a deadline.
    enum AtDeadline: Sendable, Equatable {
        /// Only sets the next deadline.
        case goOn
        case endSlowReader
        /// Resets the stream without reading its request, because the client does not read the previous responses.
        case resetStream
        case refuseHead
        case endKeyWait
        case endExchange
        case close
    }
}
