import Foundation
import GatehouseInstruments
import Redis

/// A lock in Redis, one for each session. When several replicas refresh the same session at once, the one that holds
/// the lock rotates; the others wait a moment and read its result.
///
/// The lock only saves work. Rotation is correct without it, because of PostgreSQL's conditional UPDATE. When Redis is
/// unavailable, or the lock is lost or granted twice, every replica proceeds.
struct RaceLock: Sendable {
    /// The outcome of an attempt to acquire the lock.
    enum Acquisition: Sendable {
        case acquired(RedisLock.Lease)
        case heldByAnother
        /// Redis did not answer in time, or is not reachable.
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

    func acquire(_ sessionID: UUID) async -> Acquisition {
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
    func release(_ acquisition: Acquisition) -> Task<Void, Never>? {
        guard case .acquired(let lease) = acquisition else { return nil }
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
