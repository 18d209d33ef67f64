extension ClientConnectionState {
    enum Phase: Sendable, Equatable {
        /// A request's head is waited for.
        case head
        /// The head is there; it waits for keys that its token needs, or for a place.
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
