import Foundation
import Metrics
import Redis

/// Lets one of several replicas that refresh the same session at once do the work, and the others wait a moment and
/// read the result.
///
/// It saves work and is not what makes rotation correct: PostgreSQL's conditional UPDATE is. Without Redis, or when
/// the lock is lost or granted twice, every replica simply goes ahead.
struct RaceLock: Sendable {
    enum Turn: Sendable {
        case first(RedisLock.Lease)
        /// Somebody else is at it.
        case second
        case withoutLock
    }

    private let redis: RedisClient
    private let timeout: Duration
    private let lifetime: Duration
    private let metrics: RaceLockMetrics

    /// - Parameters:
    ///   - timeout: what an uncontended refresh waits for Redis at most.
    ///   - lifetime: longer than the work takes, shorter than anybody waits.
    init(
        redis: RedisClient, timeout: Duration = .milliseconds(50), lifetime: Duration = .seconds(2),
        metrics: any MetricsFactory = MetricsSystem.factory
    ) {
        self.redis = redis
        self.timeout = timeout
        self.lifetime = lifetime
        self.metrics = RaceLockMetrics(factory: metrics)
    }

    func take(_ sessionID: UUID) async -> Turn {
        let lock = RedisLock(
            client: redis, name: "gatehouse:tokens:race:\(sessionID.uuidString)", lifetime: lifetime)
        do {
            guard let lease = try await lock.acquire(timeout: timeout) else { return .second }
            metrics.taken.increment()
            return .first(lease)
        } catch {
            metrics.bypassed.increment()
            return .withoutLock
        }
    }

    /// Opens the lock without making anybody wait for it; if that fails, its lifetime ends it.
    @discardableResult
    func release(_ turn: Turn) -> Task<Void, Never>? {
        guard case .first(let lease) = turn else { return nil }
        return Task { _ = try? await lease.release() }
    }

    /// - Parameter found: whether the other's result was there after the wait, or what cannot be waited for.
    func waited(found: Bool) {
        (found ? metrics.waited : metrics.timedOut).increment()
    }
}

/// `tokens_race_lock_total` by result.
private struct RaceLockMetrics: Sendable {
    let taken: Counter
    let waited: Counter
    let timedOut: Counter
    let bypassed: Counter

    init(factory: any MetricsFactory) {
        func counter(_ result: String) -> Counter {
            Counter(label: "tokens_race_lock_total", dimensions: [("result", result)], factory: factory)
        }
        taken = counter("taken")
        waited = counter("waited")
        timedOut = counter("timed_out")
        bypassed = counter("bypassed")
    }
}
