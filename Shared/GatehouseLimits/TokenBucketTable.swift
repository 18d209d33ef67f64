/// The key that a limit counts by.
public protocol LimitedKey: Hashable, Sendable {
    /// Keys of one neighbourhood share a bucket when there is no room for one each. A flood usually comes from one
    /// neighbourhood, and then uses up its own bucket. By default a key shares with others at random, so that no client
    /// can choose which.
    var neighbourhood: UInt64 { get }
}

extension LimitedKey {
    public var neighbourhood: UInt64 { UInt64(truncatingIfNeeded: hashValue) }
}

extension String: LimitedKey {}

/// A bounded number of token buckets by key, as a value.
///
/// Only a full bucket is removed, since a new one would be full too. So no client can reset a bucket by filling the
/// table with others.
///
/// It is public and inlinable because only then the compiler specializes it in the gateway, which takes several tokens
/// for each request.
public struct TokenBucketTable<Key: LimitedKey>: Sendable {
    @usableFromInline
    struct Slot: Sendable {
        @usableFromInline var key: Key
        /// The state that `TokenBucket` keeps.
        @usableFromInline var fullAt: Int64
        /// Tokens that were taken since the last report.
        @usableFromInline var unreported: Int

        @inlinable
        init(key: Key, fullAt: Int64, unreported: Int = 0) {
            (self.key, self.fullAt, self.unreported) = (key, fullAt, unreported)
        }
    }

    /// Buckets checked each time that a slot is needed, to find a full one. The search goes round the table, so no call
    /// pays for all of it.
    @inlinable static var slotsPerSearch: Int { 8 }

    @usableFromInline let bucket: TokenBucket
    @usableFromInline let capacity: Int
    @usableFromInline let reportSize: Int
    @usableFromInline var indices: [Key: Int] = [:]
    @usableFromInline var slots: [Slot] = []
    @usableFromInline var hand = 0

    /// - Parameters:
    ///   - bucket: the rule of each bucket.
    ///   - capacity: the most buckets; 1 or more.
    ///   - reportSize: how many tokens of one bucket make a report.
    public init(bucket: TokenBucket, capacity: Int, reportSize: Int = .max) {
        (self.bucket, self.capacity, self.reportSize) = (bucket, capacity, reportSize)
    }

    /// How many keys have a bucket.
    public var count: Int { slots.count }

    /// Takes `cost` tokens, all or none.
    ///
    /// - Returns: the room that is left, below 0 for a refusal, and how many tokens are to be reported, usually 0.
    ///   `nil` where the key has no bucket and there is no room for one.
    @inlinable
    public mutating func take(_ cost: Int, from key: Key, now: Int64) -> (room: Int64, toReport: Int)? {
        guard let index = indices[key] ?? add(key, fullAt: now, now: now) else { return nil }
        let (room, fullAt) = bucket.room(after: cost, fullAt: slots[index].fullAt, now: now)
        guard room >= 0 else { return (room, 0) }
        let unreported = slots[index].unreported + cost
        let isDue = unreported >= reportSize
        slots[index].fullAt = fullAt
        slots[index].unreported = isDue ? 0 : unreported
        return (room, isDue ? unreported : 0)
    }

    /// The room that `take` would leave. It takes nothing.
    @inlinable
    public func room(after cost: Int, of key: Key, now: Int64) -> Int64? {
        let index = indices[key]
        guard index != nil || slots.count < capacity || nextFull(now: now) != nil else { return nil }
        return bucket.room(after: cost, fullAt: index.map { slots[$0].fullAt } ?? now, now: now).room
    }

    /// Refunds tokens that should not count. A key without a bucket has all of them.
    public mutating func refund(_ cost: Int, to key: Key) {
        guard let index = indices[key] else { return }
        slots[index].fullAt -= Int64(cost) * bucket.interval
    }

    /// Makes `take` refuse one token for `wait`, and longer if it does already. A key that finds no room is left out.
    public mutating func exhaust(_ key: Key, for wait: Int64, now: Int64) {
        let fullAt = now + wait + Int64(bucket.capacity - 1) * bucket.interval
        guard let index = indices[key] ?? add(key, fullAt: fullAt, now: now) else { return }
        slots[index].fullAt = max(slots[index].fullAt, fullAt)
    }

    /// - Returns: the key's slot; `nil` where there is no room for it.
    @inlinable
    mutating func add(_ key: Key, fullAt: Int64, now: Int64) -> Int? {
        if let index = nextFull(now: now) {
            indices[slots[index].key] = nil
            slots[index] = Slot(key: key, fullAt: fullAt)
            indices[key] = index
            hand = index + 1
            return index
        }
        guard slots.count < capacity else {
            hand += Self.slotsPerSearch
            return nil
        }
        indices[key] = slots.count
        slots.append(Slot(key: key, fullAt: fullAt))
        return slots.count - 1
    }

    @inlinable
    func nextFull(now: Int64) -> Int? {
        guard !slots.isEmpty else { return nil }
        for step in 0..<min(Self.slotsPerSearch, slots.count) {
            let index = (hand + step) % slots.count
            if slots[index].fullAt <= now { return index }
        }
        return nil
    }
}
