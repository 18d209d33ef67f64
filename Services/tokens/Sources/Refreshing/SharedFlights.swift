import Synchronization

/// Lets calls with equal keys that arrive while one is under way share its outcome.
///
/// The work belongs to none of the callers: one that goes away takes nothing from the others. It has as much time as
/// the first of them; whoever has more tries again when that was not enough.
final class SharedFlights<Key: Hashable & Sendable, Value: Sendable>: Sendable {
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
                // Anything else than its first caller's lack of time would befall us too.
                guard flight.deadline < deadline, flight.deadline <= .now else { throw error }
            }
        }
    }

    /// The one that is under way, or a new one.
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
