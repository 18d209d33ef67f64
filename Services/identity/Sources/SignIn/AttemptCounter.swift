import Redis

/// Keeps count of attempts.
protocol AttemptCounter: Sendable {
    /// Takes one attempt of the key's.
    /// - Returns: `nil` where there was one; else how long until there is, and nothing was taken.
    func take(_ key: String, of allowance: AttemptAllowance) async -> Duration?

    /// Puts one back that shall not count.
    func giveBack(_ key: String, of allowance: AttemptAllowance) async
}

/// Counts for all replicas together in Redis; while that is away, each for itself.
struct RedisAttemptCounter: AttemptCounter {
    private let tiers: [String: [RedisTokenBucket]]

    init(redis: RedisClient, allowances: [AttemptAllowance]) {
        let pairs = allowances.map { allowance in
            let buckets = allowance.tiers.enumerated().map { number, tier in
                RedisTokenBucket(
                    client: redis, name: "identity:attempts:\(allowance.name):\(number)", capacity: tier.atOnce,
                    refillPerSecond: 1 / tier.interval)
            }
            return (allowance.name, buckets)
        }
        tiers = Dictionary(uniqueKeysWithValues: pairs)
    }

    func take(_ key: String, of allowance: AttemptAllowance) async -> Duration? {
        let buckets = buckets(of: allowance)
        for (number, bucket) in buckets.enumerated() {
            guard case .refused(let retryAfter) = await bucket.take(key) else { continue }
            for taken in buckets[..<number] { await taken.giveBack(key) }
            return retryAfter
        }
        return nil
    }

    func giveBack(_ key: String, of allowance: AttemptAllowance) async {
        for bucket in buckets(of: allowance) { await bucket.giveBack(key) }
    }

    private func buckets(of allowance: AttemptAllowance) -> [RedisTokenBucket] {
        guard let buckets = tiers[allowance.name] else { preconditionFailure("an allowance that is not counted") }
        return buckets
    }
}
