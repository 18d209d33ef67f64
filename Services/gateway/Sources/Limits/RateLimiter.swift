import Limits
import Synchronization

/// One rate limit, counted for each address or user in this process.
///
/// The number of buckets is bounded. When all are in use, a new key shares a larger bucket with its neighbourhood. So
/// no other key's count is lost, and a flood from one network leaves the buckets of others alone.
///
/// Every request takes from several limiters. So a key is not written as text, and no request searches a whole table for
/// room, as `LocalTokenBuckets` does for rarer events.
final class RateLimiter<Key: LimitedKey>: Sendable {
    /// Reports to other replicas how many requests of one address or user were admitted here since the last report.
    typealias Report = @Sendable (RateLimiter, _ key: Key, _ count: Int) -> Void

    private final class Shard: Sendable {
        let table = Mutex(BucketTable<Key>(capacity: RateLimiter.bucketsPerShard))
    }

    /// Several shards, so that event loops seldom wait for each other's lock.
    private static var shardCount: Int { 16 }
    private static var bucketsPerShard: Int { 4096 }
    private static var sharedBuckets: Int { 4096 }
    /// The capacity of a shared bucket, as a multiple of one key's limit.
    private static var shareFactor: Int { 64 }
    /// A limit is reported in this many parts. Each replica's count is wrong by at most one part.
    private static var reportParts: Int { 32 }

    let limit: RateLimit
    private let sharedBucket: TokenBucket
    private let report: Report?
    private let onSharing: @Sendable () -> Void
    private let shards = (0..<shardCount).map { _ in Shard() }
    /// Empty until a shared bucket is needed.
    private let shared = Mutex<[Int64]>([])

    /// - Parameters:
    ///   - report: `nil`: each replica counts alone.
    ///   - onSharing: called for each request that counted in a shared bucket.
    init(_ limit: RateLimit, report: Report? = nil, onSharing: @escaping @Sendable () -> Void = {}) {
        self.limit = limit
        self.onSharing = onSharing
        self.report = report
        sharedBucket = limit.bucket.times(Self.shareFactor)
    }

    /// The number of buckets now.
    var count: Int { shards.reduce(0) { $0 + $1.table.withLock { $0.count } } }

    /// - Parameter now: nanoseconds of a monotonic clock.
    /// - Returns: `nil` when the request is admitted, else how long until it would be.
    func take(_ key: Key, now: Int64) -> Duration? {
        var due = 0
        let (wait, isKept) = shard(of: key).table.withLock { table -> (Duration?, Bool) in
            var bucket = table[key] ?? .init()
            let (decision, fullAt) = limit.bucket.take(1, fullAt: bucket.fullAt, now: now)
            guard let fullAt else { return (decision.retryAfter, true) }
            bucket.fullAt = fullAt
            if report != nil {
                bucket.unreported += 1
                if bucket.unreported * Self.reportParts >= limit.capacity {
                    due = bucket.unreported
                    bucket.unreported = 0
                }
            }
            return (nil, table.keep(bucket, of: key, now: now))
        }
        guard isKept else {
            onSharing()
            return withSharedBucket(of: key) { shared in
                let (decision, fullAt) = sharedBucket.take(1, fullAt: shared, now: now)
                if let fullAt { shared = fullAt }
                return decision.retryAfter
            }
        }
        if due > 0 { report?(self, key, due) }
        return wait
    }

    /// How long until `take` would admit a request, without counting one; `nil`: it would now.
    func delay(of key: Key, now: Int64) -> Duration? {
        let (bucket, hasRoom) = shard(of: key).table.withLock { table in
            let bucket = table[key]
            return (bucket, bucket != nil || table.hasRoom(now: now))
        }
        guard hasRoom else {
            return withSharedBucket(of: key) { sharedBucket.take(1, fullAt: $0, now: now).decision.retryAfter }
        }
        return limit.bucket.take(1, fullAt: bucket?.fullAt ?? 0, now: now).decision.retryAfter
    }

    /// All replicas together have exceeded the limit: no request of this key is admitted for `wait`.
    func exhaust(_ key: Key, for wait: Duration, now: Int64) {
        let fullAt = now + wait.nanoseconds + Int64(limit.capacity - 1) * limit.bucket.interval
        shard(of: key).table.withLock { table in
            var bucket = table[key] ?? .init()
            // Responses of Redis may arrive out of order.
            bucket.fullAt = max(bucket.fullAt, fullAt)
            _ = table.keep(bucket, of: key, now: now)
        }
    }

    private func shard(of key: Key) -> Shard {
        shards[Int(truncatingIfNeeded: UInt(bitPattern: key.hashValue) % UInt(Self.shardCount))]
    }

    private func withSharedBucket(of key: Key, _ body: (inout Int64) -> Duration?) -> Duration? {
        // Hashed, so that a client cannot choose the key that it shares a bucket with.
        let index = Int(UInt(bitPattern: key.neighbourhood.hashValue) % UInt(Self.sharedBuckets))
        return shared.withLock { shared in
            if shared.isEmpty { shared = Array(repeating: 0, count: Self.sharedBuckets) }
            return body(&shared[index])
        }
    }
}

/// A bounded number of token buckets by key.
///
/// Only a full bucket is removed, since a new one would be full too. So no client can reset a bucket by filling the
/// table with others.
struct BucketTable<Key: Hashable & Sendable>: Sendable {
    struct Bucket: Sendable {
        /// The state that `TokenBucket` keeps; nanoseconds.
        var fullAt: Int64 = 0
        /// Admitted requests that have not been reported to the other replicas.
        var unreported = 0
    }

    /// Buckets checked each time that a slot is needed, to find a full one. The search goes round the table, so no
    /// request pays for all of it.
    private static var slotsPerSearch: Int { 8 }

    private let capacity: Int
    private var indices: [Key: Int] = [:]
    private var slots: [(key: Key, bucket: Bucket)] = []
    private var hand = 0

    init(capacity: Int) { self.capacity = capacity }

    var count: Int { slots.count }

    subscript(key: Key) -> Bucket? { indices[key].map { slots[$0].bucket } }

    /// Whether the table has room for another key.
    func hasRoom(now: Int64) -> Bool { slots.count < capacity || nextFull(now: now) != nil }

    /// - Returns: `false` where the key has no bucket yet and there is no room for one.
    mutating func keep(_ bucket: Bucket, of key: Key, now: Int64) -> Bool {
        if let index = indices[key] {
            slots[index].bucket = bucket
        } else if let index = nextFull(now: now) {
            indices[slots[index].key] = nil
            slots[index] = (key, bucket)
            indices[key] = index
            hand = index + 1
        } else if slots.count < capacity {
            indices[key] = slots.count
            slots.append((key, bucket))
        } else {
            hand += Self.slotsPerSearch
            return false
        }
        return true
    }

    private func nextFull(now: Int64) -> Int? {
        guard !slots.isEmpty else { return nil }
        return (0..<min(Self.slotsPerSearch, slots.count)).lazy.map { (hand + $0) % slots.count }
            .first { slots[$0].bucket.fullAt <= now }
    }
}
