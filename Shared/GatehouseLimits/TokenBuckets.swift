public import Synchronization

/// A bounded number of token buckets by key, in this process's memory.
///
/// When all buckets are in use, a new key shares a larger one with its neighbourhood. So a flood of keys neither resets
/// a count nor locks other clients out.
public final class TokenBuckets<Key: LimitedKey>: Sendable {
    /// What ``take(_:from:now:)`` did.
    public struct Taken: Sendable {
        public let decision: RateLimitDecision
        /// Tokens of this bucket that have not been reported yet, once they are enough for a report; else 0.
        public let toReport: Int
        /// Whether the key shares a bucket, because there was no room for its own.
        public let isShared: Bool

        @inlinable
        init(_ decision: RateLimitDecision, toReport: Int = 0, isShared: Bool = false) {
            (self.decision, self.toReport, self.isShared) = (decision, toReport, isShared)
        }
    }

    @usableFromInline
    final class Shard: Sendable {
        @usableFromInline let table: Mutex<TokenBucketTable<Key>>

        init(_ table: TokenBucketTable<Key>) { self.table = Mutex(table) }
    }

    /// The capacity of a shared bucket, as a multiple of one key's.
    private static var shareFactor: Int { 64 }

    @usableFromInline let shards: [Shard]
    @usableFromInline let bucket: TokenBucket
    private let sharedBucket: TokenBucket
    private let sharedCount: Int
    /// The states of the shared buckets. Empty until one is needed.
    private let shared = Mutex<[Int64]>([])

    /// - Parameters:
    ///   - bucket: the rule of each.
    ///   - capacity: the most buckets of their own for keys (about 100 bytes each).
    ///   - shards: parts with a lock each, for limits that many threads use.
    ///   - sharedCount: the number of shared buckets.
    ///   - reportSize: how many tokens of one bucket make a report.
    public init(
        bucket: TokenBucket, capacity: Int = 10_000, shards: Int = 1, sharedCount: Int = 256, reportSize: Int = .max
    ) {
        self.shards = (0..<shards).map { _ in
            Shard(TokenBucketTable(bucket: bucket, capacity: capacity / shards, reportSize: reportSize))
        }
        self.bucket = bucket
        self.sharedCount = sharedCount
        sharedBucket = bucket.times(Self.shareFactor)
    }

    /// How many keys have a bucket of their own.
    public var count: Int { shards.reduce(0) { $0 + $1.table.withLock { $0.count } } }

    /// Takes `cost` tokens from the bucket of `key`, all or none.
    ///
    /// - Parameter now: the time on a monotonic clock, in the rule's unit.
    @inlinable
    @inline(__always)
    public func take(_ cost: Int = 1, from key: Key, now: Int64 = TokenBucket.uptime) -> Taken {
        let taken = shard(of: key).table.withLock { $0.take(cost, from: key, now: now) }
        guard let (room, toReport) = taken else { return takeShared(cost, from: key.neighbourhood, now: now) }
        return Taken(bucket.decision(leaving: room), toReport: toReport)
    }

    /// What ``take(_:from:now:)`` would decide. It takes nothing.
    @inlinable
    public func check(_ cost: Int = 1, of key: Key, now: Int64 = TokenBucket.uptime) -> RateLimitDecision {
        let room = shard(of: key).table.withLock { $0.room(after: cost, of: key, now: now) }
        guard let room else { return checkShared(cost, of: key.neighbourhood, now: now) }
        return bucket.decision(leaving: room)
    }

    /// Refunds tokens that should not count. Tokens from a shared bucket are not refunded.
    public func refund(_ cost: Int = 1, to key: Key) {
        shard(of: key).table.withLock { $0.refund(cost, to: key) }
    }

    /// Refuses every token of `key` for `wait`, in the rule's unit.
    public func exhaust(_ key: Key, for wait: Int64, now: Int64) {
        shard(of: key).table.withLock { $0.exhaust(key, for: wait, now: now) }
    }

    @inlinable
    @inline(__always)
    func shard(of key: Key) -> Shard {
        guard shards.count > 1 else { return shards[0] }
        return shards[Int(truncatingIfNeeded: UInt(bitPattern: key.hashValue) % UInt(shards.count))]
    }

    @usableFromInline
    func takeShared(_ cost: Int, from neighbourhood: UInt64, now: Int64) -> Taken {
        withShared(neighbourhood) { fullAt in
            let (decision, next) = sharedBucket.take(cost, fullAt: fullAt, now: now)
            if let next { fullAt = next }
            return Taken(decision, isShared: true)
        }
    }

    @usableFromInline
    func checkShared(_ cost: Int, of neighbourhood: UInt64, now: Int64) -> RateLimitDecision {
        withShared(neighbourhood) { sharedBucket.take(cost, fullAt: $0, now: now).decision }
    }

    private func withShared<Value>(_ neighbourhood: UInt64, _ body: (inout Int64) -> Value) -> Value {
        // Hashed, so that a client cannot choose the neighbourhood that it shares a bucket with.
        let index = Int(UInt(bitPattern: neighbourhood.hashValue) % UInt(sharedCount))
        return shared.withLock { shared in
            if shared.isEmpty { shared = Array(repeating: 0, count: sharedCount) }
            return body(&shared[index])
        }
    }
}
