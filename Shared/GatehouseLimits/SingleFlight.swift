import Synchronization

/// Runs the work once for all concurrent calls with the same key. The callers share its outcome.
///
/// The work runs in a task of its own: when a caller is cancelled, the others still get their result. All statements of
/// the work share one time limit: the time that the first caller may wait for PostgreSQL. If the work failed because
/// that time passed, a caller with a later deadline starts over.
package final class SingleFlight<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private struct Flight {
        let deadline: Deadline?
        let task: Task<Value, any Error>
    }

    private let flights = Mutex<[Key: Flight]>([:])

    package init() {}

    /// - Parameter work: the work, which must end by the current deadline.
    package func run(_ key: Key, _ work: @escaping @Sendable () async throws -> Value) async throws -> Value {
        let deadline = Deadline.current?.forDatabase
        while true {
            let flight = flight(key, deadline, work)
            do {
                return try await flight.task.value
            } catch {
                // Start over only if the first caller's deadline stopped the work. Any other error would recur.
                guard let ended = flight.deadline, ended.hasPassed, deadline.map({ ended.instant < $0.instant }) ?? true
                else { throw error }
            }
        }
    }

    /// The flight in progress, or a new one.
    private func flight(
        _ key: Key, _ deadline: Deadline?, _ work: @escaping @Sendable () async throws -> Value
    ) -> Flight {
        flights.withLock { flights in
            if let flight = flights[key] { return flight }
            let task = Task {
                defer { self.flights.withLock { _ = $0.removeValue(forKey: key) } }
                return try await Deadline.with(deadline, operation: work)
            }
            let flight = Flight(deadline: deadline, task: task)
            flights[key] = flight
            return flight
        }
    }
}
