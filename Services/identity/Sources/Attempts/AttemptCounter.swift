import Redis
import Synchronization

/// One attempt, of those that an allowance leaves to a key.
struct Attempt: Sendable {
    var allowance: AttemptAllowance
    var key: String
}

/// Keeps count of attempts.
protocol AttemptCounter: Sendable {
    /// Takes all of them, or none if there is no room for one.
    /// - Parameter cost: how often each counts, 1 or more.
    func take(_ attempts: [Attempt], cost: Int) async -> AttemptOutcome

    /// Puts back attempts that were taken and shall not count.
    /// - Parameters:
    ///   - cost: as it was taken.
    ///   - isShared: as in the outcome.
    func refund(_ attempts: [Attempt], cost: Int, isShared: Bool) async
}

enum AttemptOutcome: Sendable {
    /// - Parameter isShared: whether other replicas know of it.
    case taken(isShared: Bool)
    case refused(retryAfter: Duration)
}

/// Counts for all replicas together, in Redis. While Redis is away each replica counts for itself.
final class RedisAttemptCounter: AttemptCounter {
    private let redis: RedisClient
    private let buckets = Mutex<[AttemptAllowance: [RedisTokenBuckets]]>([:])

    /// - Parameter allowances: those whose metrics are there from the start, also when nothing was counted yet.
    init(redis: RedisClient, allowances: [AttemptAllowance]) {
        self.redis = redis
        for allowance in allowances { _ = buckets(of: allowance) }
    }

    func take(_ attempts: [Attempt], cost: Int) async -> AttemptOutcome {
        switch await tokens(of: attempts, cost: cost).take() {
        case .taken(let place): .taken(isShared: place == .shared)
        case .refused(let retryAfter): .refused(retryAfter: retryAfter)
        }
    }

    func refund(_ attempts: [Attempt], cost: Int, isShared: Bool) async {
        await tokens(of: attempts, cost: cost).refund(to: isShared ? .shared : .local)
    }

    private func tokens(of attempts: [Attempt], cost: Int) -> RedisTokens {
        RedisTokens(
            attempts.flatMap { attempt in buckets(of: attempt.allowance).map { ($0, attempt.key) } }, cost: cost)
    }

    /// The allowance's buckets, one for each tier. They are made once: while Redis is away they hold the count.
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
