import Redis
import Synchronization

/// One attempt, charged to one key of an allowance.
package struct Attempt: Sendable {
    var allowance: AttemptAllowance
    var key: String
}

/// Counts attempts.
package protocol AttemptCounter: Sendable {
    /// Takes all attempts, or none if any of them has no room.
    /// - Parameter cost: how often each attempt counts, 1 or more.
    func take(_ attempts: [Attempt], cost: Int) async -> AttemptOutcome

    /// Refunds attempts that were taken.
    /// - Parameters:
    ///   - cost: the cost with which they were taken.
    ///   - isShared: as in the outcome.
    func refund(_ attempts: [Attempt], cost: Int, isShared: Bool) async
}

package enum AttemptOutcome: Sendable {
    /// - Parameter isShared: whether the count is shared with other replicas.
    case taken(isShared: Bool)
    case refused(retryAfter: Duration)
}

/// Counts for all replicas together, in Redis. While Redis is unavailable, each replica counts for itself.
package final class RedisAttemptCounter: AttemptCounter {
    private let redis: RedisClient
    private let buckets = Mutex<[AttemptAllowance: [RedisTokenBuckets]]>([:])

    /// - Parameter allowances: the allowances whose metrics exist from the start, before anything was counted.
    init(redis: RedisClient, allowances: [AttemptAllowance]) {
        self.redis = redis
        for allowance in allowances { _ = buckets(of: allowance) }
    }

    package func take(_ attempts: [Attempt], cost: Int) async -> AttemptOutcome {
        switch await tokens(of: attempts, cost: cost).take() {
        case .taken(let place): .taken(isShared: place == .shared)
        case .refused(let retryAfter): .refused(retryAfter: retryAfter)
        }
    }

    package func refund(_ attempts: [Attempt], cost: Int, isShared: Bool) async {
        await tokens(of: attempts, cost: cost).refund(to: isShared ? .shared : .local)
    }

    private func tokens(of attempts: [Attempt], cost: Int) -> RedisTokens {
        RedisTokens(
            attempts.flatMap { attempt in buckets(of: attempt.allowance).map { ($0, attempt.key) } }, cost: cost)
    }

    /// The allowance's buckets, one for each tier. They are created once, because they hold the count while Redis is
    /// unavailable.
    private func buckets(of allowance: AttemptAllowance) -> [RedisTokenBuckets] {
        buckets.withLock { buckets in
            if let known = buckets[allowance] { return known }
            let new = allowance.tiers.enumerated().map { number, tier in
                RedisTokenBuckets(
                    client: redis, name: "identity:attempts:\(allowance.name):\(number)", capacity: tier.atOnce,
                    refillPerSecond: 1 / tier.interval)
            }
            buckets[allowance] = new
            return new
        }
    }
}
