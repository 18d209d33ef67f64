import Redis

/// One attempt of a key's, of those that it is allowed.
struct Attempt: Sendable {
    var allowance: AttemptAllowance
    var key: String
}

/// Keeps count of attempts.
protocol AttemptCounter: Sendable {
    /// Takes all of them, or none where one is not to be had.
    func take(_ attempts: [Attempt]) async -> AttemptOutcome

    /// Puts back what was taken and shall not count.
    /// - Parameter isShared: as the outcome was.
    func giveBack(_ attempts: [Attempt], isShared: Bool) async
}

enum AttemptOutcome: Sendable {
    /// - Parameter isShared: whether other replicas know of it.
    case taken(isShared: Bool)
    case refused(retryAfter: Duration)
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

    func take(_ attempts: [Attempt]) async -> AttemptOutcome {
        switch await tokens(of: attempts).take() {
        case .taken(let place): .taken(isShared: place == .shared)
        case .refused(let retryAfter): .refused(retryAfter: retryAfter)
        }
    }

    func giveBack(_ attempts: [Attempt], isShared: Bool) async {
        await tokens(of: attempts).giveBack(to: isShared ? .shared : .local)
    }

    private func tokens(of attempts: [Attempt]) -> RedisTokens {
        RedisTokens(
            attempts.flatMap { attempt in
                guard let buckets = tiers[attempt.allowance.name] else {
                    preconditionFailure("an allowance that is not counted")
                }
                return buckets.map { ($0, attempt.key) }
            })
    }
}
