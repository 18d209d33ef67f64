/// The state machine of a connection to an upstream, without its socket: it receives events and returns the actions.
struct UpstreamConnectionMachine: Sendable {
    enum Phase: Sendable, Equatable {
        /// The connection carries no request.
        case idle
        /// Waits for the head of a response.
        case head
        case body
        /// Bytes of a WebSocket are relayed both ways.
        case tunnel
        case closed
    }

    /// The effect of the connection's end on its request.
    enum AtEnd: Sendable, Equatable {
        /// The response is complete: it ended with the connection.
        case responseEnded
        case tunnelEnded
        /// The response is missing or incomplete.
        case failed(ExchangeMachine.Retry)
    }

    /// Interim responses (1xx) before the final one; more are an error.
    static let interimLimit = 8

    private(set) var phase = Phase.idle
    /// Whether it carries a WebSocket or an event stream. The pool counts such a connection apart from those that carry
    /// requests, and does not reuse it.
    private(set) var isDetached = false
    private var interim = 0
    private var keepsAlive = false
    /// Whether it has carried a request before. The upstream may be closing such a connection while the next request is
    /// sent.
    private var isReused = false
    /// Whether it was cut rather than closed in order. A response that ends with the connection is then incomplete (RFC
    /// 9112 §8, §9.8).
    private var isCut = false

    /// A request is sent on the connection.
    mutating func begin() {
        phase = .head
        interim = 0
    }

    /// - Returns: whether the number of interim responses is within the limit.
    mutating func receivedInterim() -> Bool {
        interim += 1
        return interim <= Self.interimLimit
    }

    /// - Parameters:
    ///   - keepsAlive: whether the upstream accepts another request afterwards.
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
    ///   - hasInput: whether unrequested bytes followed the response.
    /// - Returns: whether the connection is kept for another request. Otherwise it is to be closed.
    mutating func responseEnded(isRequestComplete: Bool, hasInput: Bool) -> Bool {
        let isKept = keepsAlive && isRequestComplete && !hasInput
        phase = isKept ? .idle : .closed
        isReused = true
        return isKept
    }

    /// The gateway closes the connection.
    mutating func close() { phase = .closed }

    /// The system, or TLS, reports an error.
    mutating func cut() { isCut = true }

    /// The socket is closed.
    ///
    /// - Parameters:
    ///   - bodyEndsWithConnection: whether the response's body is delimited by the end of the connection.
    ///   - hasInput: whether a part of a head has arrived.
    ///   - isIdempotent: whether the current request may be sent twice (RFC 9110 §9.2.2).
    mutating func ended(bodyEndsWithConnection: Bool, hasInput: Bool, isIdempotent: Bool) -> AtEnd {
        defer { phase = .closed }
        switch phase {
        case .body where bodyEndsWithConnection && !isCut: return .responseEnded
        case .tunnel: return .tunnelEnded
        case .head where interim == 0 && !hasInput && isIdempotent: return .failed(isReused ? .replacing : .elsewhere)
        default: return .failed(.never)
        }
    }
}
