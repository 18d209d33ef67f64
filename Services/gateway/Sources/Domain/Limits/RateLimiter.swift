import Synchronization

/// One rate limit, counted for each address or user in this process.
///
/// The number of buckets is bounded. When all are in use, a new key shares a larger bucket with its neighbourhood. So no
/// other key's count is lost, and a flood from one network leaves the buckets of others alone.
final class RateLimiter<Key: LimitedKey>: Sendable {
    /// Tells other replicas how many requests of one address or user were admitted here since they were told last.
    typealias Tell = @Sendable (RateLimiter, _ key: Key, _ count: Int) -> Void

    private final class Shard: Sendable {
        let table = Mutex(BucketTable<Key>(capacity: RateLimiter.bucketsPerShard))
    }

    /// So that event loops seldom wait for each other.
    private static var shardCount: Int { 16 }
    private static var bucketsPerShard: Int { 4096 }
    private static var sharedBuckets: Int { 4096 }
    /// A shared bucket holds so many times the limit of one key.
    private static var shareFactor: Int { 64 }
    /// Others are told of each of these parts of the limit: each replica is wrong by that much at the most.
    private static var toldParts: Int { 32 }

    let limit: RateLimit
    private let sharedLimit: RateLimit
    private let tell: Tell?
    private let onSharing: @Sendable () -> Void
    private let shards = (0..<shardCount).map { _ in Shard() }
    /// None until one is needed.
    private let shared = Mutex<[Int64]>([])

    /// - Parameters:
    ///   - tell: `nil`: each replica counts alone.
    ///   - onSharing: called for each request for which there was no bucket of its own.
    init(_ limit: RateLimit, tell: Tell? = nil, onSharing: @escaping @Sendable () -> Void = {}) {
        self.limit = limit
        self.onSharing = onSharing
        self.tell = tell
        sharedLimit = limit.times(Self.shareFactor)
    }

    /// Buckets that are kept now.
    var count: Int { shards.reduce(0) { $0 + $1.table.withLock { $0.count } } }

    /// - Returns: `nil` when the request is admitted, else the nanoseconds after which it would be.
    func take(_ key: Key, now: Int64) -> Int64? {
        var news = 0
        let (wait, isKept) = shard(of: key).table.withLock { table -> (Int64?, Bool) in
            var bucket = table[key] ?? .init()
            if let wait = limit.take(&bucket.fullAt, now: now) { return (wait, true) }
            if tell != nil {
                bucket.untold += 1
                if bucket.untold * Self.toldParts >= limit.capacity { swap(&news, &bucket.untold) }
            }
            return (nil, table.keep(bucket, of: key, now: now))
        }
        guard isKept else {
            onSharing()
            return withSharedBucket(of: key) { sharedLimit.take(&$0, now: now) }
        }
        if news > 0 { tell?(self, key, news) }
        return wait
    }

    /// Whether `take` would admit a request, which is not counted.
    func wait(_ key: Key, now: Int64) -> Int64? {
        let (bucket, hasRoom) = shard(of: key).table.withLock { table in
            let bucket = table[key]
            return (bucket, bucket != nil || table.hasRoom(now: now))
        }
        guard hasRoom else { return withSharedBucket(of: key) { sharedLimit.wait($0, now: now) } }
        return limit.wait(bucket?.fullAt ?? 0, now: now)
    }

    /// All replicas together have counted more than the limit: no request of this key is admitted for `wait`.
    func exhaust(_ key: Key, for wait: Duration, now: Int64) {
        let fullAt = limit.exhausted(for: wait.nanoseconds, now: now)
        shard(of: key).table.withLock { table in
            var bucket = table[key] ?? .init()
            // What Redis said later may arrive first.
            bucket.fullAt = max(bucket.fullAt, fullAt)
            _ = table.keep(bucket, of: key, now: now)
        }
    }

    private func shard(of key: Key) -> Shard {
        shards[Int(truncatingIfNeeded: UInt(bitPattern: key.hashValue) % UInt(Self.shardCount))]
    }

    private func withSharedBucket(of key: Key, _ body: (inout Int64) -> Int64?) -> Int64? {
        // Hashed, so that no client can choose whose bucket it shares.
        let place = Int(UInt(bitPattern: key.neighbourhood.hashValue) % UInt(Self.sharedBuckets))
        return shared.withLock { shared in
            if shared.isEmpty { shared = Array(repeating: 0, count: Self.sharedBuckets) }
            return body(&shared[place])
        }
    }
}
