/// The state machine of one forwarded request, without its connections: it receives events and returns the actions.
///
/// Times are nanoseconds of a monotonic clock.
struct ExchangeMachine: Sendable {
    enum Phase: Sendable, Equatable {
        /// The beginning of the body is buffered here; no connection to an upstream is taken yet.
        case buffering
        /// The request is complete and waits for a permit of a queue.
        case queued
        /// Waits for a connection to an upstream's address.
        case connecting
        /// The request is being sent; waits for the head of its response.
        case waitingForResponse
        /// The response is forwarded to the client.
        case responding
        /// Bytes of a WebSocket are relayed both ways.
        case tunnel
        case ended
    }

    /// Why an upstream gave no response that can be passed on, or not the whole of one.
    enum Failure: String, Sendable, CaseIterable {
        case unreachable
        /// The only address refuses connections and is being probed.
        case setAside = "set aside"
        /// This process had no port, descriptor or memory for a connection.
        case exhausted
        case busy
        /// The connection ended before the response did.
        case cut
        case garbage
        case timeout
    }

    /// Whether a request may be sent again after a failure.
    enum Retry: Sendable, Equatable {
        case never
        /// To another address than the last one: no connection was made, a new one closed before a byte of the response
        /// to an idempotent request, as at a server that stops, or a probe had no response in its time.
        case elsewhere
        /// On a new connection: a kept one closed before a byte of the response to an idempotent request.
        case replacing
    }

    enum AfterFailure: Sendable, Equatable {
        case nothing
        /// The request is sent once more.
        case retry
        /// The client receives a refusal instead of the response.
        case refuse
        /// Part of the response has been written, so the client's connection has to be cut.
        case abort
    }

    enum AfterTimeout: Sendable, Equatable {
        /// The wait for the body is over.
        case forward
        /// The client kept the upstream waiting.
        case refuseSlowBody
        /// No permit of the queue has become free.
        case leaveQueue
        case fail(Retry)
    }

    /// The next step for a body of which a part has arrived.
    enum Buffering: Sendable, Equatable {
        case continues
        /// The request is forwarded with the part that has arrived.
        case ends
        /// The memory for bodies does not suffice to wait for the rest.
        case exceedsMemory
    }

    /// Bytes of a body that are buffered before an upstream's connection is taken.
    static let bufferedBytes = 64 * 1024

    private(set) var phase: Phase
    /// Deadline for the response's head.
    private(set) var deadline: Int64
    /// Whether the request probes an address that was set aside.
    private(set) var isProbe = false
    private(set) var attempts = 0
    /// Bytes of the request's body that have arrived.
    private(set) var bodyBytes = 0
    /// Whether an upstream may have received a part of the body, or its end.
    private var hasSentBody = false
    /// Whether the whole request was sent to an upstream.
    private(set) var isRequestComplete: Bool
    /// Whether it is, or was, a WebSocket or an event stream: long-lived, counted apart from requests, and recorded
    /// when it begins.
    private(set) var isStream = false
    /// Whether the whole body is buffered, regardless of the time that it takes.
    private let buffersWholeBody: Bool
    /// When the request is forwarded with the part of its body that has arrived.
    private let bufferingDeadline: Int64
    /// When the wait for a permit of the queue times out.
    private var queueDeadline = Int64.max
    /// Whether it is, or was, a WebSocket.
    private(set) var isTunnel = false
    let hasBody: Bool
    private let bodyLimit: Int
    private let timeout: Int64

    /// - Parameters:
    ///   - bufferingTime: how long to wait for the beginning of a body before a connection to an upstream is taken;
    ///     nanoseconds. `nil`: not at all.
    ///   - buffersWholeBody: whether to wait for the whole body.
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

    /// Whether the response has begun.
    var hasResponse: Bool { phase == .responding || phase == .tunnel }

    // MARK: The request

    /// Counts an attempt, for which an address is about to be chosen.
    ///
    /// - Returns: whether it is a retry: an attempt was made before.
    mutating func beginAttempt() -> Bool {
        phase = .connecting
        attempts += 1
        return attempts > 1
    }

    mutating func choose(isProbe: Bool) { self.isProbe = isProbe }

    /// The request is sent on a connection.
    ///
    /// - Returns: the deadline for the response's head in this attempt. A probe may take a third of the time, so that
    ///   another address can still respond in the rest.
    mutating func connected(at now: Int64) -> Int64 {
        phase = .waitingForResponse
        return isProbe ? now + max(0, deadline - now) / 3 : deadline
    }

    /// The deadline of the next step: the end of buffering or of the wait for a permit, or the response's head.
    var nextDeadline: Int64 {
        switch phase {
        case .buffering: min(bufferingDeadline, deadline)
        case .queued: min(queueDeadline, deadline)
        default: deadline
        }
    }

    /// A part of the body has arrived.
    ///
    /// - Returns: whether the body is still within its limit.
    mutating func countBody(_ bytes: Int) -> Bool {
        bodyBytes += bytes
        return bodyBytes <= bodyLimit
    }

    /// Decides whether to wait for more of the body.
    ///
    /// - Parameters:
    ///   - bytes: of the body that are buffered.
    ///   - allowance: bytes that one request may buffer.
    ///   - isWhole: whether the body is known to be complete.
    func buffering(_ bytes: Int, of allowance: Int, isWhole: Bool) -> Buffering {
        if buffersWholeBody { return isWhole || bytes <= allowance ? .continues : .exceedsMemory }
        return bytes >= min(Self.bufferedBytes, allowance) ? .ends : .continues
    }

    /// All permits of the request's queue are taken.
    ///
    /// - Parameter timeout: nanoseconds.
    mutating func enqueue(for timeout: Int64, at now: Int64) {
        phase = .queued
        queueDeadline = now + timeout
    }

    /// A part of the body is sent to the upstream.
    mutating func bodySent() { hasSentBody = true }

    /// Moves the deadline with the arrival of the body, because the upstream cannot respond before it has the body.
    ///
    /// - Parameter latest: when a body of this size should have arrived. A slower body does not move the deadline
    ///   beyond that.
    mutating func extend(latest: Int64, at now: Int64) { deadline = max(deadline, min(now, latest) + timeout) }

    /// The body's end is sent to the upstream.
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

    // MARK: Failures

    /// Whether a failure counts against the upstream's address. It does not if a kept connection was closing, or the
    /// client kept the upstream waiting.
    func isFaultOfAddress(_ retry: Retry) -> Bool {
        phase == .waitingForResponse && isRequestComplete && retry != .replacing
    }

    /// The upstream's connection has closed, or could not be made.
    ///
    /// - Parameters:
    ///   - addresses: how many the upstream has.
    ///   - takeRetry: takes a retry out of the upstream's budget; called only if the retry costs one.
    mutating func failed(_ retry: Retry, addresses: Int, at now: Int64, takeRetry: () -> Bool) -> AfterFailure {
        switch phase {
        case .ended: return .nothing
        case .responding, .tunnel: return .abort
        case .buffering, .queued, .connecting, .waitingForResponse: break
        }
        // The gateway keeps no body that it has sent, so such a request cannot be repeated.
        let isUntouched = !hasBody || !hasSentBody
        let isReplacing = retry == .replacing
        // As many attempts as there are addresses, and one more where a connection is replaced.
        let limit = isReplacing ? addresses + 1 : addresses
        // Replacing a connection costs no retry: its number is bounded by that of kept connections.
        guard retry != .never || isProbe, now < deadline, isUntouched, attempts < limit, isReplacing || takeRetry()
        else { return .refuse }
        phase = .connecting
        return .retry
    }

    /// - Parameter upstreamAcceptsBody: whether the upstream would take more of the body.
    func timedOut(upstreamAcceptsBody: Bool, at now: Int64) -> AfterTimeout {
        if phase == .buffering { return now < deadline ? .forward : .refuseSlowBody }
        if phase == .queued { return .leaveQueue }
        guard phase == .waitingForResponse else { return .fail(.never) }
        if isProbe, now < deadline { return .fail(.elsewhere) }
        return !isRequestComplete && upstreamAcceptsBody ? .refuseSlowBody : .fail(.never)
    }
}
