import Foundation
import Metrics
import Redis

/// Lets one of several replicas that refresh the same session at once do the work, and the others wait a moment and
/// read the result.
///
/// It saves work and is not what makes rotation correct: PostgreSQL's conditional UPDATE is. Without Redis, or when
/// the lock is lost or granted twice, every replica simply goes ahead.
struct RaceLock: Sendable {
    /// Longer than the work takes, shorter than anybody waits.
    static let lifetime: Duration = .seconds(2)

    enum Turn: Sendable {
        case first(RedisLock.Lease)
        /// Somebody else is at it.
        case second
        case withoutLock
    }

    private let redis: RedisClient
    private let timeout: Duration
    private let metrics = RaceLockMetrics()

    /// - Parameter timeout: what an uncontended refresh waits for Redis at most.
    init(redis: RedisClient, timeout: Duration = .milliseconds(50)) {
        self.redis = redis
        self.timeout = timeout
    }

    func take(_ sessionID: UUID) async -> Turn {
        let lock = RedisLock(
            client: redis, name: "gatehouse:tokens:race:\(sessionID.uuidString)", lifetime: Self.lifetime)
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
    func release(_ turn: Turn) {
        guard case .first(let lease) = turn else { return }
        Task { try? await lease.release() }
    }

    /// - Parameter found: whether the other's result was there after the wait.
    func waited(found: Bool) {
        (found ? metrics.waited : metrics.timedOut).increment()
    }
}

/// `tokens_race_lock_total` by result.
private struct RaceLockMetrics: Sendable {
    let taken = Self.counter("taken")
    let waited = Self.counter("waited")
    let timedOut = Self.counter("timed_out")
    let bypassed = Self.counter("bypassed")

    private static func counter(_ result: String) -> Counter {
        Counter(label: "tokens_race_lock_total", dimensions: [("result", result)])
    }
}
