import GatehouseServiceContracts

/// The state machine of a server's HTTP/1.1 connection, without its socket: it receives events and returns the actions.
///
/// Requests may be pipelined. Their responses are written one after the other.
struct HTTPConnectionMachine: Sendable {
    /// The most bytes that are read and dropped after the last response.
    static let lingerLimit = 16 << 20

    /// The action after another part of a request.
    enum OnPart: Sendable, Equatable {
        case forward
        case drop
        /// Close the connection at once.
        case close
    }

    /// The action after an error.
    enum OnError: Sendable, Equatable {
        case forward
        case drop
        /// Write a refusal, and linger.
        case refuse(ErrorCode)
    }

    /// The action after the end of a response, besides writing it.
    enum AtEnd: Sendable, Equatable {
        /// Nothing else.
        case none
        /// Close the connection when the response has been sent.
        case close
        /// The client may still be sending: close the output, and read and drop input for a while.
        case linger
        /// Write a refusal too, and linger.
        case refuse(ErrorCode)
    }

    private enum Phase: Sendable, Equatable {
        case open
        /// The last response is written. All further input is dropped.
        case lingering(dropped: Int)
        case closed
    }

    private var phase = Phase.open
    /// Whether the head of the last request has arrived, and its end has not.
    private var isRequestIncomplete = false
    /// Requests without a complete response.
    private var requestsInProgress = 0
    private var closesAfterResponse = false
    /// The refusal of the bytes after the requests in progress, which are not valid HTTP.
    private var pendingRefusal: ErrorCode?

    /// Whether requests are read.
    var isOpen: Bool { phase == .open }
    var isLingering: Bool { if case .lingering = phase { true } else { false } }
    /// Whether the rest of a request is expected, for which the time is limited.
    var awaitsRestOfRequest: Bool { phase == .open && isRequestIncomplete }

    // MARK: Input

    /// The head of a request has arrived while ``isOpen``. Later ones are dropped.
    ///
    /// - Parameters:
    ///   - expectsContinue: whether the client waits for `100 Continue` before it sends a body of an accepted length.
    ///   - isLast: whether the client sends no request after this one.
    /// - Returns: whether to answer `100 Continue` first.
    mutating func receivedHead(expectsContinue: Bool, isLast: Bool) -> Bool {
        // Before a response to an earlier request, the client would take 100 for a part of that response.
        let continues = expectsContinue && requestsInProgress == 0
        isRequestIncomplete = true
        requestsInProgress += 1
        if isLast { closesAfterResponse = true }
        return continues
    }

    mutating func receivedBody(_ count: Int) -> OnPart {
        switch phase {
        case .open: return .forward
        case .lingering(let dropped) where dropped + count <= Self.lingerLimit:
            phase = .lingering(dropped: dropped + count)
            return .drop
        case .lingering:
            phase = .closed
            return .close
        case .closed: return .drop
        }
    }

    mutating func receivedEnd() -> OnPart {
        guard phase == .open else { return .drop }
        isRequestIncomplete = false
        return .forward
    }

    /// - Parameter refusal: the response to bytes that are not valid HTTP; `nil` for any other error.
    mutating func receivedError(_ refusal: ErrorCode?) -> OnError {
        if isLingering { return .drop }
        guard let refusal, phase == .open else { return .forward }
        if requestsInProgress == 0 {
            phase = .lingering(dropped: 0)
            return .refuse(refusal)
        }
        guard isRequestIncomplete else {
            pendingRefusal = refusal
            return .drop
        }
        // The route reads the body, which ends with this error.
        closesAfterResponse = true
        return .forward
    }

    mutating func closed() { phase = .closed }

    // MARK: Output

    /// The head of a response says that the connection will be closed.
    mutating func responseCloses() { closesAfterResponse = true }

    mutating func responseEnded() -> AtEnd {
        requestsInProgress -= 1
        guard phase == .open else { return .none }
        if closesAfterResponse, requestsInProgress == 0 || isRequestIncomplete {
            phase = .lingering(dropped: 0)
            return isRequestIncomplete ? .linger : .close
        }
        guard requestsInProgress == 0, let pendingRefusal else { return .none }
        phase = .lingering(dropped: 0)
        return .refuse(pendingRefusal)
    }
}
