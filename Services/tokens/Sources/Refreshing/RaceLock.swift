import Foundation
import Instruments
import Redis
import Synchronization

/// A lock in Redis, one for each session. When several replicas refresh the same session at once, the one that holds
/// the lock rotates; the others wait a moment and read its result.
///
/// The lock only saves work. Rotation is correct without it, by PostgreSQL's conditional UPDATE: when Redis is away, or
/// the lock is lost or granted twice, every replica goes ahead.
struct RaceLock: Sendable {
    /// What came of an attempt to acquire the lock.
    enum Attempt: Sendable {
        case acquired(RedisLock.Lease)
        case heldByAnother
        /// Redis did not answer in time.
        case unavailable
    }

    private let redis: RedisClient
    private let timeout: Duration
    private let lifetime: Duration
    private let metrics: RaceLockMetrics

    /// - Parameters:
    ///   - timeout: how long a refresh waits for Redis at most.
    ///   - lifetime: after which the lock ends by itself: longer than a refresh takes, shorter than a client waits.
    init(
        redis: RedisClient, timeout: Duration = .milliseconds(50), lifetime: Duration = .seconds(2),
        metrics: (any MetricsFactory)? = nil
    ) {
        self.redis = redis
        self.timeout = timeout
        self.lifetime = lifetime
        self.metrics = RaceLockMetrics(factory: metrics)
    }

    func acquire(_ sessionID: UUID) async -> Attempt {
        let lock = RedisLock(
            client: redis, name: "gatehouse:tokens:race:\(sessionID.uuidString)", lifetime: lifetime)
        do {
            guard let lease = try await lock.acquire(timeout: timeout) else { return .heldByAnother }
            metrics.taken.increment()
            return .acquired(lease)
        } catch {
            metrics.bypassed.increment()
            return .unavailable
        }
    }

    /// Releases the lock in the background: no answer waits for Redis. If that fails, the lock ends with its lifetime.
    @discardableResult
    func release(_ attempt: Attempt) -> Task<Void, Never>? {
        guard case .acquired(let lease) = attempt else { return nil }
        return Task { _ = try? await lease.release() }
    }

    /// Counts a wait for another replica.
    ///
    /// - Parameter foundResult: `false` when that replica had not rotated by the end of the wait.
    func countWait(foundResult: Bool) {
        (foundResult ? metrics.waited : metrics.timedOut).increment()
    }
}

/// `tokens_race_lock_total` by result.
private struct RaceLockMetrics: Sendable {
    let taken: Counter
    let waited: Counter
    let timedOut: Counter
    let bypassed: Counter

    init(factory: (any MetricsFactory)?) {
        func counter(_ result: String) -> Counter {
            Counter(
                "tokens_race_lock_total", help: "Refreshes, by what the race lock in Redis did for them.",
                labels: [("result", result)], factory: factory)
        }
        taken = counter("taken")
        waited = counter("waited")
        timedOut = counter("timed_out")
        bypassed = counter("bypassed")
    }
}

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
