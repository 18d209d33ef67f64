/// The states of a connection to an upstream, without its socket: it is told what happened, and says what to do.
struct UpstreamConnectionState: Sendable {
    enum Phase: Sendable, Equatable {
        /// No request is on it.
        case idle
        /// The head of a response is waited for.
        case head
        case body
        /// Bytes of a WebSocket go both ways.
        case tunnel
        case closed
    }

    /// What the end of the connection means for the request that is on it.
    enum AtEnd: Sendable, Equatable {
        /// The response is whole: it ended with the connection.
        case responseEnded
        case tunnelEnded
        /// The response did not come, or not the whole of it.
        case failed(isSafeToRepeat: Bool)
    }

    /// Interim responses (1xx) before the final one; more are taken for garbage.
    static let interimLimit = 8

    private(set) var phase = Phase.idle
    /// Whether it carries a WebSocket or an event stream: the pool counts it apart from those that carry requests, and
    /// does not get it back.
    private(set) var isDetached = false
    private var interim = 0
    private var keepsAlive = false
    /// Whether it has carried a request before: then it may be closing as the next one is sent.
    private var isReused = false
    /// Whether it ended in another way than its other side meant: a response that ends with it is not complete then
    /// (RFC 9112 §8, §9.8).
    private var isCut = false

    /// A request goes out on it.
    mutating func begin() {
        phase = .head
        interim = 0
    }

    /// - Returns: whether there may be so many interim responses.
    mutating func interimCame() -> Bool {
        interim += 1
        return interim <= Self.interimLimit
    }

    /// - Parameters:
    ///   - keepsAlive: whether the upstream would take another request afterwards.
    ///   - isEventStream: whether the response is an event stream.
    mutating func responseBegan(keepsAlive: Bool, isEventStream: Bool = false) {
        self.keepsAlive = keepsAlive && !isEventStream
        isDetached = isEventStream
        phase = .body
    }

    mutating func tunnelBegan() {
        phase = .tunnel
        isDetached = true
    }

    /// - Parameters:
    ///   - isRequestComplete: a response may come before its request has been sent whole.
    ///   - hasInput: whether bytes came after the response, which nobody asked for.
    /// - Returns: whether the connection is kept for another request. Else it is to be closed.
    mutating func responseEnded(isRequestComplete: Bool, hasInput: Bool) -> Bool {
        let isKept = keepsAlive && isRequestComplete && !hasInput
        phase = isKept ? .idle : .closed
        isReused = true
        return isKept
    }

    /// The gateway closes it.
    mutating func close() { phase = .closed }

    /// The system, or TLS, tells of a fault.
    mutating func cut() { isCut = true }

    /// The socket is closed.
    ///
    /// - Parameters:
    ///   - bodyEndsWithConnection: whether that is how the response's body ends.
    ///   - hasInput: whether a part of a head has come.
    ///   - isIdempotent: whether the request that is on it may be sent twice (RFC 9110 §9.2.2).
    mutating func ended(bodyEndsWithConnection: Bool, hasInput: Bool, isIdempotent: Bool) -> AtEnd {
        defer { phase = .closed }
        switch phase {
        case .body where bodyEndsWithConnection && !isCut: return .responseEnded
        case .tunnel: return .tunnelEnded
        case .head: return .failed(isSafeToRepeat: isReused && interim == 0 && !hasInput && isIdempotent)
        default: return .failed(isSafeToRepeat: false)
        }
    }
}
