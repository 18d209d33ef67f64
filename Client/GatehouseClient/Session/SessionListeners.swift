/// Those who are told of a session's changes.
struct SessionListeners: Sendable {
    private var continuations: [Int: AsyncStream<SessionState>.Continuation] = [:]
    private var next = 0
    private var last: SessionState?

    mutating func add(_ continuation: AsyncStream<SessionState>.Continuation, now state: SessionState) -> Int {
        next += 1
        continuations[next] = continuation
        continuation.yield(state)
        return next
    }

    func finish() { for continuation in continuations.values { continuation.finish() } }

    mutating func remove(_ number: Int) { continuations[number] = nil }

    /// Tells of a state, once.
    mutating func tell(_ state: SessionState) {
        guard state != last else { return }
        last = state
        for continuation in continuations.values { continuation.yield(state) }
    }
}
