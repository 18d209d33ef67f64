import Synchronization

/// Lets calls with equal keys that arrive while one is under way share its outcome.
///
/// The work belongs to none of the callers: one that goes away takes nothing from the others.
final class SharedFlights<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private let flights = Mutex<[Key: Task<Value, any Error>]>([:])

    func run(_ key: Key, _ work: @escaping @Sendable () async throws -> Value) async throws -> Value {
        let flight = flights.withLock { flights in
            if let flight = flights[key] { return flight }
            let flight = Task {
                defer { self.flights.withLock { _ = $0.removeValue(forKey: key) } }
                return try await work()
            }
            flights[key] = flight
            return flight
        }
        return try await flight.value
    }
}
