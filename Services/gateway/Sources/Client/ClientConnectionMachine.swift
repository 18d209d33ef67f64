/// The states of a client's connection, without its socket: it is told what happened, and says what to do.
///
/// Requests come one after the other, and their responses go out in the same order. Times are nanoseconds of a
/// monotonic clock.
struct ClientConnectionState: Sendable {
    /// A connection is kept after a body that went nowhere if that was no longer than this, in bytes.
    static let discardLimit = 64 * 1024

    private(set) var phase = Phase.head
    /// Whether the present response is the connection's last.
    private(set) var closesAfterResponse = false
    /// The client sends the body only when told to (RFC 9110 §10.1.1), and has not been told.
    private(set) var waitsForContinue = false
    /// `false` once the present request has waited for keys for as long as it may.
    private(set) var mayWait = true
    /// Bytes that the client had still to take when that was looked at last.
    private(set) var waiting = 0

    private let times: ClientTimes
    /// A stream of HTTP/2 carries one; the connection is then only to be read to its end.
    private let carriesOneRequest: Bool
    private var isOverLimit = false
    private var phaseDeadline = Int64.max
    private var waitDeadline: Int64?
    private var lingersUntil: Int64 = 0
    private var discarded = 0
    private var written = 0
    private var pace: ReadingPace

    init(times: ClientTimes, carriesOneRequest: Bool = false) {
        self.times = times
        self.carriesOneRequest = carriesOneRequest
        pace = times.pace
    }

    /// When `timedOut` is to be called.
    var deadline: Int64 { phase == .closed ? phaseDeadline : min(phaseDeadline, pace.deadline) }

    /// Whether the connection carries nothing and could be closed.
    func isIdle(hasInput: Bool) -> Bool { phase == .head && !hasInput }

    /// The first request is waited for, or what has to come before it.
    ///
    /// - Parameters:
    ///   - isPrepared: whether nothing has to come before it.
    ///   - isOverLimit: whether the connection is one too many.
    mutating func open(isPrepared: Bool, isOverLimit: Bool, at now: Int64) {
        self.isOverLimit = isOverLimit
        phaseDeadline = now + (isOverLimit ? times.overLimit : isPrepared ? times.idle : times.head)
    }

    /// The socket is closed.
    mutating func closed() {
        phase = .closed
        phaseDeadline = .max
    }

    /// The socket is gone: waiting bytes are no longer reported.
    mutating func forgetWaiting() { waiting = 0 }

    /// The socket is to be closed in the middle of whatever goes on.
    mutating func abort() { phase = .closed }

    // MARK: The request

    /// Bytes have come.
    ///
    /// - Parameter isFirst: whether none waited to be read before them.
    /// - Returns: whether they are to be read.
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

    /// The client has taken the responses before, so that a head that has come already is read now.
    mutating func headIsReadLate(at now: Int64) { phaseDeadline = now + times.head }

    /// However often other keys are fetched meanwhile, a request waits once.
    /// - Parameter patience: for how long at the most; nanoseconds.
    mutating func wait(for patience: Int64, at now: Int64) {
        let until = waitDeadline ?? now + patience
        waitDeadline = until
        phase = .waiting
        phaseDeadline = until
    }

    /// The head is judged again.
    mutating func endWait() { phase = .head }

    /// A request goes to an upstream.
    ///
    /// - Parameters:
    ///   - closes: whether it is the connection's last in any case.
    ///   - deadline: when its response has to begin.
    mutating func forward(hasBody: Bool, expectsContinue: Bool, closes: Bool, until deadline: Int64) {
        isAdmitted(expectsContinue: expectsContinue)
        closesAfterResponse = closes
        phase = hasBody ? .body : .responding
        phaseDeadline = deadline
        pace.begin()
    }

    /// A request has a response of the gateway's, which is about to be written; `responseEnded` is to be called then.
    ///
    /// - Parameter bodyLength: of the request; `nil`: not known.
    mutating func respond(bodyLength: Int?, expectsContinue: Bool, closes: Bool) {
        isAdmitted(expectsContinue: expectsContinue)
        closesAfterResponse = closes || expectsContinue || isOverLimit || bodyLength ?? 0 > Self.discardLimit
        phase = bodyLength == 0 ? .responding : .body
    }

    private mutating func isAdmitted(expectsContinue: Bool) {
        waitDeadline = nil
        mayWait = true
        waitsForContinue = expectsContinue
    }

    /// The body is wanted.
    mutating func bodyMayFlow() { waitsForContinue = false }

    mutating func discarded(_ bytes: Int) {
        discarded += bytes
        if discarded > Self.discardLimit { closesAfterResponse = true }
    }

    /// The body that went to the upstream is whole.
    mutating func bodyEnded() { phase = .responding }

    /// Nobody knows where the body ends, so nothing after it can be read.
    mutating func bodyIsMalformed() {
        closesAfterResponse = true
        phase = .responding
    }

    mutating func tunnelBegan() { phase = .tunnel }

    // MARK: The response

    /// Whether the present response, whose head is about to be written, says that it is the connection's last.
    mutating func decideToClose(isDraining: Bool) -> Bool {
        if phase == .body || isDraining { closesAfterResponse = true }
        return closesAfterResponse
    }

    /// The response is written whole, or what was left of the request's body behind it is read.
    ///
    /// A body that has not come is read for a while and thrown away: a client that still writes may not look for a
    /// response before it has written all.
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

    /// The connection ends: nothing more will be written, and what still comes is thrown away for as long as the client
    /// may be reading. Closed with unread bytes, the system would throw away what the client has not read.
    mutating func linger(at now: Int64) {
        phase = .lingering
        startLingering(at: now)
    }

    private mutating func startLingering(at now: Int64) {
        phaseDeadline = now + times.linger
        lingersUntil = now + (isOverLimit ? times.linger : times.longestLinger)
    }

    mutating func wrote(_ bytes: Int) { written += bytes }

    /// - Parameter waiting: bytes that the client has still to take.
    /// - Returns: whether it takes its responses fast enough.
    mutating func look(waiting: Int, at now: Int64) -> Bool {
        self.waiting = waiting
        return pace.look(isWaiting: waiting > 0, taken: written - waiting, at: now)
    }

    /// The client has taken bytes, as `look` was told. Its time to read the last of them begins with the last of them.
    mutating func taken(at now: Int64) {
        if waiting == 0, phase == .lingering { startLingering(at: now) }
    }

    // MARK: Time

    /// The exchange has its own time.
    mutating func allow(until deadline: Int64) { phaseDeadline = deadline }

    /// A part of the response has come.
    mutating func extendStream(at now: Int64) { phaseDeadline = now + times.stream }

    /// - Parameters:
    ///   - isFast: what `look` has said just now.
    ///   - isWritable: whether the socket, or the connection of a stream, takes more.
    ///   - hasInput: whether bytes have come that are not read.
    ///   - hasResponse: whether a response of an upstream has begun.
    ///   - isUndelivered: whether the client's system has still to acknowledge bytes; asked where that counts.
    mutating func timedOut(
        isFast: Bool, isWritable: Bool, hasInput: Bool, hasResponse: Bool, isUndelivered: () -> Bool, at now: Int64
    ) -> AtDeadline {
        guard isFast || phase == .closed else { return .endSlowReader }
        guard phaseDeadline <= now,
            !givesMoreTime(hasResponse: hasResponse, isUndelivered: isUndelivered, at: now)
        else { return .wait }
        // In case that nothing else sets it.
        phaseDeadline = now + times.linger
        switch phase {
        case .head where carriesOneRequest && !isWritable: return .resetStream
        case .head: return hasInput && !isOverLimit ? .refuseHead : .close
        case .waiting:
            mayWait = false
            return .stopWaiting
        case .body, .responding, .tunnel: return .endExchange
        case .discardingBody, .lingering, .closed: return .close
        }
    }

    /// A time that a client is given begins when it has taken what waits for it.
    private mutating func givesMoreTime(hasResponse: Bool, isUndelivered: () -> Bool, at now: Int64) -> Bool {
        switch phase {
        case .head where waiting > 0: phaseDeadline = now + times.idle
        case .discardingBody where waiting > 0, .lingering where waiting > 0: startLingering(at: now)
        // The system may still be sending, and would stop if the client said anything to a closed connection.
        case .lingering where now < lingersUntil && isUndelivered():
            phaseDeadline = min(lingersUntil, now + times.linger)
        case .body where waiting > 0 && hasResponse, .responding where waiting > 0 && hasResponse,
            .tunnel where waiting > 0 && hasResponse:
            extendStream(at: now)
        default: return false
        }
        return true
    }
}

extension ClientConnectionState {
    enum Phase: Sendable, Equatable {
        /// A request's head is waited for.
        case head
        /// The head is there; it waits for keys that its token needs.
        case waiting
        /// The request's body goes to the upstream.
        case body
        /// The response is written; the rest of the request's body is thrown away.
        case discardingBody
        /// The request is read whole; its response is not complete.
        case responding
        /// Bytes of a WebSocket go both ways.
        case tunnel
        /// The last response is written; whatever still comes is thrown away.
        case lingering
        case closed
    }

    /// What to do once a response is written whole.
    enum AfterResponse: Sendable, Equatable {
        case readNextRequest
        case discardBody
        case linger
    }

    /// What to do at a deadline.
    enum AtDeadline: Sendable, Equatable {
        /// Nothing but to come back at the next one.
        case wait
        case endSlowReader
        /// The client does not read the responses before it, so that its request is not looked at.
        case resetStream
        case refuseHead
        case stopWaiting
        case endExchange
        case close
    }
}
