import Foundation
import Instruments
import Limits
import Redis
import Synchronization

/// A lock in Redis, one for each session. When several replicas refresh the same session at once, the one that holds
/// the lock rotates; the others wait a moment and read its result.
///
/// The lock only saves work. Rotation is correct without it, because of PostgreSQL's conditional UPDATE. When Redis is
/// unavailable, or the lock is lost or granted twice, every replica proceeds.
struct RaceLock: Sendable {
    /// The outcome of an attempt to acquire the lock.
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
    ///   - timeout: the longest time that a refresh waits for Redis.
    ///   - lifetime: the time after which the lock expires: longer than a refresh takes, shorter than a client waits.
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

    /// Releases the lock in the background, so that no response waits for Redis. If that fails, the lock expires.
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
                "tokens_race_lock_total", help: "Refreshes, by the outcome of the race lock in Redis.",
                labels: [("result", result)], factory: factory)
        }
        taken = counter("taken")
        waited = counter("waited")
        timedOut = counter("timed_out")
        bypassed = counter("bypassed")
    }
}

/// Runs the work once for all concurrent calls with the same key. The callers share its outcome.
///
/// The work runs in a task of its own: when a caller is cancelled, the others still get their result. The deadline of
/// the first caller for PostgreSQL applies to all statements of the work together. If the work failed because that
/// deadline passed, a caller with a later deadline starts over.
final class SingleFlight<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private struct Flight {
        let deadline: Deadline?
        let task: Task<Value, any Error>
    }

    private let flights = Mutex<[Key: Flight]>([:])

    /// - Parameter work: the work, which must end by the current deadline.
    func run(_ key: Key, _ work: @escaping @Sendable () async throws -> Value) async throws -> Value {
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
