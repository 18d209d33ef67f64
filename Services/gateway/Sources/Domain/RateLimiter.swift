import Synchronization

/// One rate limit, counted for each address or user in this process.
final class RateLimiter<Key: Hashable & Sendable>: Sendable {
    /// Tells other replicas how many requests of one address or user were admitted here since they were told last.
    typealias Tell = @Sendable (RateLimiter, _ key: Key, _ count: Int) -> Void

    private struct Bucket {
        var fullAt: Int64 = 0
        /// Requests that were admitted and that no other replica knows of.
        var untold = 0
    }

    private final class Shard: Sendable {
        let buckets = Mutex<(current: [Key: Bucket], previous: [Key: Bucket])>(([:], [:]))
    }

    /// So that event loops seldom wait for each other.
    private static var shardCount: Int { 16 }
    private static var bucketsPerShard: Int { 4096 }
    /// Others are told of each of these parts of the limit: each replica is wrong by that much at the most.
    private static var toldParts: Int { 32 }

    let limit: RateLimit
    private let tell: Tell?
    private let shards = (0..<shardCount).map { _ in Shard() }

    /// - Parameter tell: `nil`: each replica counts alone.
    init(_ limit: RateLimit, tell: Tell? = nil) {
        self.limit = limit
        self.tell = tell
    }

    /// - Returns: `nil` when the request is admitted, else the nanoseconds after which it would be.
    func take(_ key: Key, now: Int64) -> Int64? {
        var news = 0
        let wait = shard(of: key).buckets.withLock { buckets in
            var bucket = buckets.current[key] ?? buckets.previous[key] ?? Bucket()
            let wait = limit.take(&bucket.fullAt, now: now)
            if wait == nil, tell != nil {
                bucket.untold += 1
                if bucket.untold * Self.toldParts >= limit.capacity { swap(&news, &bucket.untold) }
            }
            // Forgets, of many, those that were not seen of late.
            if buckets.current.count >= Self.bucketsPerShard {
                buckets = (current: [:], previous: buckets.current)
            }
            buckets.current[key] = bucket
            return wait
        }
        if news > 0 { tell?(self, key, news) }
        return wait
    }

    /// Whether `take` would admit a request, which is not counted.
    func wait(_ key: Key, now: Int64) -> Int64? {
        shard(of: key).buckets.withLock { limit.wait(($0.current[key] ?? $0.previous[key])?.fullAt ?? 0, now: now) }
    }

    /// Others have counted more of this one than this process has: it is refused for a while.
    func refuse(_ key: Key, for wait: Duration, now: Int64) {
        let fullAt = limit.exhausted(for: wait.nanoseconds, now: now)
        shard(of: key).buckets.withLock { buckets in
            var bucket = buckets.current[key] ?? buckets.previous[key] ?? Bucket()
            // Answers may overtake each other.
            bucket.fullAt = max(bucket.fullAt, fullAt)
            buckets.current[key] = bucket
        }
    }

    private func shard(of key: Key) -> Shard {
        shards[Int(truncatingIfNeeded: UInt(bitPattern: key.hashValue) % UInt(Self.shardCount))]
    }
}
