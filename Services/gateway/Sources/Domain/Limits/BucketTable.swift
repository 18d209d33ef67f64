/// Token buckets by key, a bounded number of them.
///
/// Only a bucket that is full again is forgotten, since a new one would be full too. So no client can reset a bucket by
/// filling the table with others.
struct BucketTable<Key: Hashable & Sendable>: Sendable {
    struct Bucket: Sendable {
        /// The state that `RateLimit` keeps.
        var fullAt: Int64 = 0
        /// Requests that were admitted and that no other replica knows of.
        var untold = 0
    }

    /// So many are looked at, each time that a place is needed, for one that is full again: the table is gone through in
    /// turn, and no request pays for all of it.
    private static var looks: Int { 8 }

    private let capacity: Int
    private var places: [Key: Int] = [:]
    private var slots: [(key: Key, bucket: Bucket)] = []
    private var hand = 0

    init(capacity: Int) { self.capacity = capacity }

    var count: Int { slots.count }

    subscript(key: Key) -> Bucket? { places[key].map { slots[$0].bucket } }

    /// Whether a bucket of another key could be kept.
    func hasRoom(now: Int64) -> Bool { slots.count < capacity || nextFull(now: now) != nil }

    /// - Returns: `false` where the key has no bucket yet and there is no room for one.
    mutating func keep(_ bucket: Bucket, of key: Key, now: Int64) -> Bool {
        if let place = places[key] {
            slots[place].bucket = bucket
        } else if let place = nextFull(now: now) {
            places[slots[place].key] = nil
            slots[place] = (key, bucket)
            places[key] = place
            hand = place + 1
        } else if slots.count < capacity {
            places[key] = slots.count
            slots.append((key, bucket))
        } else {
            hand += Self.looks
            return false
        }
        return true
    }

    private func nextFull(now: Int64) -> Int? {
        guard !slots.isEmpty else { return nil }
        return (0..<min(Self.looks, slots.count)).lazy.map { (hand + $0) % slots.count }
            .first { slots[$0].bucket.fullAt <= now }
    }
}
