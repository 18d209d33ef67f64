/// The states of one forwarded request, without its connections: it is told what happened, and says what to do.
///
/// Times are nanoseconds of a monotonic clock.
struct ExchangeState: Sendable {
    enum Phase: Sendable, Equatable {
        /// The beginning of the body is kept here; no connection to an upstream is taken yet.
        case buffering
        /// The request is whole, and waits for a place of a queue.
        case queued
        /// A connection to an upstream's address is waited for.
        case connecting
        /// The request is on its way; the head of its response is waited for.
        case waitingForResponse
        /// The response goes to the client.
        case responding
        /// Bytes of a WebSocket go both ways.
        case tunnel
        case ended
    }

    /// Why an upstream gave no response that can be passed on, or not the whole of one.
    enum Failure: String, Sendable, CaseIterable {
        case unreachable
        /// The only address refuses connections, and is probed.
        case setAside = "set aside"
        /// This process had no port, descriptor or memory for a connection.
        case exhausted
        case busy
        /// The connection ended before the response did.
        case cut
        case garbage
        case timeout
    }

    enum AfterFailure: Sendable, Equatable {
        case nothing
        /// The request is sent once more.
        case retry
        /// The client has a refusal instead of the response.
        case refuse
        /// A part of the response is written, so that the client's connection has to be cut.
        case abort
    }

    enum AfterTimeout: Sendable, Equatable {
        /// Enough of the body was waited for.
        case forward
        /// The client left the upstream waiting.
        case refuseSlowBody
        /// No place of the queue has become free.
        case leaveQueue
        case fail(isSafeToRepeat: Bool)
    }

    /// What becomes of a body of which a part has come.
    enum Buffering: Sendable, Equatable {
        case goesOn
        /// The request is forwarded with what has come.
        case ends
        /// There is no memory to wait for the whole of it.
        case exceedsMemory
    }

    /// Bytes of a body that are kept before an upstream's connection is taken.
    static let bufferedBytes = 64 * 1024

    private(set) var phase: Phase
    /// When the response's head has to be there.
    private(set) var deadline: Int64
    /// Whether it is sent to an address that was set aside, to find out whether it responds again.
    private(set) var isProbe = false
    private(set) var attempts = 0
    /// Bytes of the request's body that have come.
    private(set) var bodyBytes = 0
    /// Whether an upstream may have a part of the body, or has been told of its end.
    private var hasSentBody = false
    /// Whether the whole request was sent to an upstream.
    private(set) var isRequestComplete: Bool
    /// Whether it is, or was, a WebSocket or an event stream: open for long, counted apart from requests, and recorded when
    /// it begins.
    private(set) var isStream = false
    /// Whether the body is buffered to its end, however long that takes.
    private let buffersWholeBody: Bool
    /// When the request is forwarded with what has come of its body.
    private let bufferingDeadline: Int64
    /// When the request has waited long enough for a place of its queue.
    private var queueDeadline = Int64.max
    /// Whether it is, or was, a WebSocket.
    private(set) var isTunnel = false
    let hasBody: Bool
    private let bodyLimit: Int
    private let timeout: Int64

    /// - Parameters:
    ///   - bufferingTime: how long the beginning of a body is waited for before a connection to an upstream is taken;
    ///     nanoseconds. `nil`: not at all.
    ///   - buffersWholeBody: whether the whole of a body is waited for.
    ///   - bodyLimit: bytes.
    ///   - timeout: for the response's head, from when the request arrived; nanoseconds.
    init(
        hasBody: Bool, bufferingTime: Int64? = nil, buffersWholeBody: Bool = false, bodyLimit: Int, timeout: Int64,
        arrivedAt: Int64
    ) {
        phase = hasBody && (bufferingTime != nil || buffersWholeBody) ? .buffering : .connecting
        self.buffersWholeBody = buffersWholeBody
        bufferingDeadline = buffersWholeBody ? .max : arrivedAt + (bufferingTime ?? 0)
        self.hasBody = hasBody
        self.bodyLimit = bodyLimit
        self.timeout = timeout
        isRequestComplete = !hasBody
        deadline = arrivedAt + timeout
    }

    /// Whether what comes now is the response.
    var hasResponse: Bool { phase == .responding || phase == .tunnel }

    // MARK: The request

    /// An address is about to be chosen.
    ///
    /// - Returns: whether the request was sent, or tried to be sent, before.
    mutating func begin() -> Bool {
        phase = .connecting
        attempts += 1
        return attempts > 1
    }

    mutating func choose(isProbe: Bool) { self.isProbe = isProbe }

    /// A connection is there, and the request goes out on it.
    ///
    /// - Returns: when the response's head has to be there in this attempt. A probe has a third of the time, since the
    ///   rest of it is another address's.
    mutating func connected(at now: Int64) -> Int64 {
        phase = .waitingForResponse
        return isProbe ? now + max(0, deadline - now) / 3 : deadline
    }

    /// When the next step is due: the end of buffering or of the wait for a place, or the response's head.
    var nextDeadline: Int64 {
        switch phase {
        case .buffering: min(bufferingDeadline, deadline)
        case .queued: min(queueDeadline, deadline)
        default: deadline
        }
    }

    /// A part of the body has come.
    ///
    /// - Returns: whether the body is still within its limit.
    mutating func countBody(_ bytes: Int) -> Bool {
        bodyBytes += bytes
        return bodyBytes <= bodyLimit
    }

    /// - Parameters:
    ///   - bytes: of the body that are buffered.
    ///   - allowance: bytes that the memory for bodies has for one request.
    ///   - isWhole: whether these are known to be all.
    func buffering(_ bytes: Int, of allowance: Int, isWhole: Bool) -> Buffering {
        if buffersWholeBody { return isWhole || bytes <= allowance ? .goesOn : .exceedsMemory }
        return bytes >= min(Self.bufferedBytes, allowance) ? .ends : .goesOn
    }

    /// All places of the request's queue are taken.
    ///
    /// - Parameter patience: for how long it waits at the most; nanoseconds.
    mutating func enqueue(for patience: Int64, at now: Int64) {
        phase = .queued
        queueDeadline = now + patience
    }

    /// A part of the body goes to the upstream.
    mutating func bodySent() { hasSentBody = true }

    /// While a body comes the upstream can't be late, so the deadline moves on with it.
    ///
    /// - Parameter latest: when so much of the body should have come. The deadline moves no further for one in drops.
    mutating func extend(latest: Int64, at now: Int64) { deadline = max(deadline, min(now, latest) + timeout) }

    /// The body's end goes to the upstream.
    mutating func requestEnded() {
        hasSentBody = true
        isRequestComplete = true
    }

    // MARK: The response

    /// - Parameter isEventStream: whether the response is an event stream.
    mutating func responseBegan(isEventStream: Bool = false) {
        phase = .responding
        isStream = isEventStream
    }

    mutating func tunnelBegan() {
        phase = .tunnel
        isStream = true
        isTunnel = true
    }

    mutating func ended() { phase = .ended }

    // MARK: What goes wrong

    /// Whether a failure counts against the upstream's address. It does not where a kept connection was just closing, nor
    /// where the client left the upstream waiting.
    func blamesAddress(for failure: Failure, isSafeToRepeat: Bool) -> Bool {
        phase == .waitingForResponse && isRequestComplete && !(failure == .cut && isSafeToRepeat)
    }

    /// The upstream's connection is gone, or was never there.
    ///
    /// - Parameters:
    ///   - isSafeToRepeat: whether the upstream can't have begun to act on the request.
    ///   - addresses: how many the upstream has.
    ///   - mayRetry: takes a retry out of the upstream's budget; asked where that counts.
    mutating func failed(
        _ failure: Failure, isSafeToRepeat: Bool, addresses: Int, mayRetry: () -> Bool
    ) -> AfterFailure {
        switch phase {
        case .ended: return .nothing
        case .responding, .tunnel: return .abort
        case .buffering, .queued, .connecting, .waitingForResponse: break
        }
        // Nothing of a body that was sent is kept to be sent again.
        let isUntouched = !hasBody || !hasSentBody
        // An address that refuses a connection is not tried again. A kept connection that turned out closed is
        // replaced, so there is one attempt more than addresses.
        let limit = failure == .unreachable || failure == .exhausted ? addresses : addresses + 1
        // Replacing a stale connection costs no retry: there are no more of them than connections that were kept.
        let isStale = failure == .cut && isSafeToRepeat
        guard isSafeToRepeat || isProbe, isUntouched, attempts < limit, isStale || mayRetry() else { return .refuse }
        phase = .connecting
        return .retry
    }

    /// - Parameter takesBody: whether the upstream would take more of the body.
    func timedOut(takesBody: Bool, at now: Int64) -> AfterTimeout {
        if phase == .buffering { return now < deadline ? .forward : .refuseSlowBody }
        if phase == .queued { return .leaveQueue }
        guard phase == .waitingForResponse else { return .fail(isSafeToRepeat: false) }
        if isProbe, now < deadline { return .fail(isSafeToRepeat: true) }
        return !isRequestComplete && takesBody ? .refuseSlowBody : .fail(isSafeToRepeat: false)
    }
}
