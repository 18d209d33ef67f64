import Synchronization

/// When the heads of a connection's requests were read, in order.
///
/// The event loop reads a head, and a task serves the request. Between them lies a queue that is seconds long on a
/// busy machine: a task that asked for the time itself would take an old request for a new one. Hummingbird hands a head
/// from one to the other with nothing beside it, but serves a connection's requests one after another in one task.
final class ArrivalTimes: Sendable {
    typealias Instant = ContinuousClock.Instant

    /// Those of the connection whose task this is.
    @TaskLocal static var ofConnection: ArrivalTimes?

    private let waiting = Mutex<[Instant]>([])

    /// The event loop has read a head.
    func note(_ instant: Instant) {
        waiting.withLock { $0.append(instant) }
    }

    /// The task begins with the next request.
    func next() -> Instant? {
        waiting.withLock { $0.isEmpty ? nil : $0.removeFirst() }
    }
}
