import Synchronization

/// One rate limit, counted for each address or user in this process.
final class RateLimiter<Key: Hashable & Sendable>: Sendable {
    private final class Shard: Sendable {
        let buckets = Mutex<(current: [Key: Int64], previous: [Key: Int64])>(([:], [:]))
    }

    /// So that event loops seldom wait for each other.
    private static var shardCount: Int { 16 }
    private static var bucketsPerShard: Int { 4096 }

    let limit: RateLimit
    private let shards = (0..<shardCount).map { _ in Shard() }

    init(_ limit: RateLimit) { self.limit = limit }

    /// - Returns: `nil` when the request is admitted, else the nanoseconds after which it would be.
    func take(_ key: Key, now: Int64) -> Int64? {
        shard(of: key).buckets.withLock { buckets in
            var fullAt = buckets.current[key] ?? buckets.previous[key] ?? 0
            let wait = limit.take(&fullAt, now: now)
            // Forgets, of many, those that were not seen of late.
            if buckets.current.count >= Self.bucketsPerShard {
                buckets = (current: [:], previous: buckets.current)
            }
            buckets.current[key] = fullAt
            return wait
        }
    }

    /// Whether `take` would admit a request, which is not counted.
    func wait(_ key: Key, now: Int64) -> Int64? {
        shard(of: key).buckets.withLock { limit.wait($0.current[key] ?? $0.previous[key] ?? 0, now: now) }
    }

    /// Others have counted more of this one than this process has: it is refused for a while.
    func refuse(_ key: Key, for wait: Duration, now: Int64) {
        let fullAt = limit.exhausted(for: wait.nanoseconds, now: now)
        shard(of: key).buckets.withLock { $0.current[key] = fullAt }
    }

    private func shard(of key: Key) -> Shard {
        shards[Int(truncatingIfNeeded: UInt(bitPattern: key.hashValue) % UInt(Self.shardCount))]
    }
}
