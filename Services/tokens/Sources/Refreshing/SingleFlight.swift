import Synchronization

/// Runs the work once for all calls with the same key that come while it is under way; they share its outcome.
///
/// The work runs in a task of its own: when a caller is cancelled, the others still get their answer. Its deadline is
/// the first caller's. A caller with a later one starts over when the work failed because that deadline had passed.
final class SingleFlight<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    typealias Instant = ContinuousClock.Instant

    private struct Flight {
        let deadline: Instant
        let task: Task<Value, any Error>
    }

    private let flights = Mutex<[Key: Flight]>([:])

    /// - Parameters:
    ///   - deadline: until when the caller waits.
    ///   - work: has time until then.
    func run(
        _ key: Key, until deadline: Instant, _ work: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        while true {
            let flight = flight(key, deadline, work)
            do {
                return try await flight.task.value
            } catch {
                // Starting over helps only if the work ran out of its first caller's time; any other error would come
                // again.
                guard flight.deadline < deadline, flight.deadline <= .now else { throw error }
            }
        }
    }

    /// The flight that is under way, or a new one.
    private func flight(
        _ key: Key, _ deadline: Instant, _ work: @escaping @Sendable () async throws -> Value
    ) -> Flight {
        flights.withLock { flights in
            if let flight = flights[key] { return flight }
            let task = Task {
                defer { self.flights.withLock { _ = $0.removeValue(forKey: key) } }
                return try await work()
            }
            let flight = Flight(deadline: deadline, task: task)
            flights[key] = flight
            return flight
        }
    }
}
