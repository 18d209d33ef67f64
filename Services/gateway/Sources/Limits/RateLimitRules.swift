import Crypto
import Foundation
import Synchronization

/// A token bucket: allows a burst of `capacity` requests, refilled at `perSecond`.
///
/// The state of each key is one number (the generic cell rate algorithm): the time at which the bucket is full again.
struct RateLimit: Sendable, Equatable {
    /// Why a request is not admitted.
    struct Refusal: Sendable, Equatable {
        /// Nanoseconds until the request would be admitted.
        let wait: Int64
        /// The limit that is used up.
        let limit: RateLimit
    }

    let capacity: Int
    let perSecond: Double

    private var interval: Int64 { max(1, Int64(1_000_000_000 / perSecond)) }

    /// The same limit for `factor` clients together.
    func times(_ factor: Int) -> RateLimit {
        RateLimit(capacity: capacity * factor, perSecond: perSecond * Double(factor))
    }

    /// Takes one token.
    ///
    /// - Parameters:
    ///   - fullAt: the bucket's state; 0 for a new one. Nanoseconds.
    ///   - now: nanoseconds of a monotonic clock.
    /// - Returns: `nil` when the request is admitted, else the nanoseconds until it would be.
    func take(_ fullAt: inout Int64, now: Int64) -> Int64? {
        let next = max(fullAt, now) + interval
        let wait = next - now - Int64(capacity) * interval
        guard wait <= 0 else { return wait }
        fullAt = next
        return nil
    }

    /// - Returns: `nil` when a request would be admitted, else the nanoseconds until it would be.
    func wait(_ fullAt: Int64, now: Int64) -> Int64? {
        var fullAt = fullAt
        return take(&fullAt, now: now)
    }

    /// The state from which the next request is admitted `wait` nanoseconds after `now`.
    func exhausted(for wait: Int64, now: Int64) -> Int64 {
        now + wait + Int64(capacity - 1) * interval
    }
}

extension Duration {
    var nanoseconds: Int64 {
        let (seconds, attoseconds) = components
        return seconds * 1_000_000_000 + attoseconds / 1_000_000_000
    }
}

/// One rate limit, counted for each address or user in this process.
///
/// The number of buckets is bounded. When all are in use, a new key shares a larger bucket with its neighbourhood. So
/// no other key's count is lost, and a flood from one network leaves the buckets of others alone.
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
    private let sharedLimit: RateLimit
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
        sharedLimit = limit.times(Self.shareFactor)
    }

    /// The number of buckets now.
    var count: Int { shards.reduce(0) { $0 + $1.table.withLock { $0.count } } }

    /// - Returns: `nil` when the request is admitted, else the nanoseconds until it would be.
    func take(_ key: Key, now: Int64) -> Int64? {
        var due = 0
        let (wait, isKept) = shard(of: key).table.withLock { table -> (Int64?, Bool) in
            var bucket = table[key] ?? .init()
            if let wait = limit.take(&bucket.fullAt, now: now) { return (wait, true) }
            if report != nil {
                bucket.unreported += 1
                if bucket.unreported * Self.reportParts >= limit.capacity { swap(&due, &bucket.unreported) }
            }
            return (nil, table.keep(bucket, of: key, now: now))
        }
        guard isKept else {
            onSharing()
            return withSharedBucket(of: key) { sharedLimit.take(&$0, now: now) }
        }
        if due > 0 { report?(self, key, due) }
        return wait
    }

    /// Whether `take` would admit a request, without counting it.
    func wait(_ key: Key, now: Int64) -> Int64? {
        let (bucket, hasRoom) = shard(of: key).table.withLock { table in
            let bucket = table[key]
            return (bucket, bucket != nil || table.hasRoom(now: now))
        }
        guard hasRoom else { return withSharedBucket(of: key) { sharedLimit.wait($0, now: now) } }
        return limit.wait(bucket?.fullAt ?? 0, now: now)
    }

    /// All replicas together have exceeded the limit: no request of this key is admitted for `wait`.
    func exhaust(_ key: Key, for wait: Duration, now: Int64) {
        let fullAt = limit.exhausted(for: wait.nanoseconds, now: now)
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

    private func withSharedBucket(of key: Key, _ body: (inout Int64) -> Int64?) -> Int64? {
        // Hashed, so that a client cannot choose the key that it shares a bucket with.
        let place = Int(UInt(bitPattern: key.neighbourhood.hashValue) % UInt(Self.sharedBuckets))
        return shared.withLock { shared in
            if shared.isEmpty { shared = Array(repeating: 0, count: Self.sharedBuckets) }
            return body(&shared[place])
        }
    }
}

/// The limit of one route: for each user, or for each address of requests without a user.
struct RouteLimiter: Sendable {
    let users: RateLimiter<UserKey>
    let addresses: AddressLimiter

    var limit: RateLimit { users.limit }

    /// - Returns: `nil` when the request is admitted.
    func take(user: UserKey?, address: AddressKey, now: Int64) -> RateLimit.Refusal? {
        guard let user else { return addresses.take(address, now: now) }
        return users.take(user, now: now).map { .init(wait: $0, limit: limit) }
    }
}

/// One limit by address: of each IPv4 address or IPv6 /64, and of the IPv6 networks around it.
///
/// A household often has a /56 with 256 networks of /64, a site a /48 with 65,536. Such a network gets more than the
/// allowance of one /64, and less than the sum of all.
struct AddressLimiter: Sendable {
    /// The networks besides a /64, and their multiples of its allowance.
    static let networks: [(bits: Int, times: Int)] = [(56, 8), (48, 64)]

    let limit: RateLimit
    private let own: RateLimiter<AddressKey>
    private let wider: [(bits: Int, limiter: RateLimiter<AddressKey>)]

    /// - Parameter make: makes the limiter of one kind of network. The name distinguishes it and is empty for
    ///   addresses.
    init(
        _ limit: RateLimit,
        make: (RateLimit, _ name: String) -> RateLimiter<AddressKey> = { limit, _ in RateLimiter(limit) }
    ) {
        self.limit = limit
        own = make(limit, "")
        wider = Self.networks.map { bits, times in (bits, make(limit.times(times), "/\(bits)")) }
    }

    /// Takes one request from all limiters. The first that has none left refuses it.
    ///
    /// - Returns: `nil` when the request is admitted.
    func take(_ address: AddressKey, now: Int64) -> RateLimit.Refusal? {
        // The networks come first: once one exceeds its limit, its addresses get no buckets. They are only read here,
        // so that a request that its own address refuses costs its neighbours nothing.
        if let refusal = refusalOfNetworks(address, now: now) { return refusal }
        if let wait = own.take(address, now: now) { return .init(wait: wait, limit: limit) }
        for (bits, limiter) in wider {
            guard let network = address.network(ofBits: bits) else { break }
            if let wait = limiter.take(network, now: now) { return .init(wait: wait, limit: limiter.limit) }
        }
        return nil
    }

    /// Whether `take` would refuse a request, without counting it.
    func refusal(of address: AddressKey, now: Int64) -> RateLimit.Refusal? {
        refusalOfNetworks(address, now: now) ?? own.wait(address, now: now).map { .init(wait: $0, limit: limit) }
    }

    private func refusalOfNetworks(_ address: AddressKey, now: Int64) -> RateLimit.Refusal? {
        for (bits, limiter) in wider {
            guard let network = address.network(ofBits: bits) else { return nil }
            if let wait = limiter.wait(network, now: now) { return .init(wait: wait, limit: limiter.limit) }
        }
        return nil
    }
}

/// A bounded number of token buckets by key.
///
/// Only a full bucket is removed, since a new one would be full too. So no client can reset a bucket by filling the
/// table with others.
struct BucketTable<Key: Hashable & Sendable>: Sendable {
    struct Bucket: Sendable {
        /// The state that `RateLimit` keeps.
        var fullAt: Int64 = 0
        /// Admitted requests that have not been reported to the other replicas.
        var unreported = 0
    }

    /// Buckets checked each time that a place is needed, to find a full one. The search goes round the table, so no
    /// request pays for all of it.
    private static var looks: Int { 8 }

    private let capacity: Int
    private var places: [Key: Int] = [:]
    private var slots: [(key: Key, bucket: Bucket)] = []
    private var hand = 0

    init(capacity: Int) { self.capacity = capacity }

    var count: Int { slots.count }

    subscript(key: Key) -> Bucket? { places[key].map { slots[$0].bucket } }

    /// Whether the table has room for another key.
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

/// The key that a limit counts requests by.
protocol LimitedKey: Hashable, Sendable {
    /// Keys of one neighbourhood share a bucket when the table has no room for one each. A flood usually comes from one
    /// neighbourhood, and then uses up its own bucket.
    var neighbourhood: UInt64 { get }
}

/// What counts as one client: an IPv4 address, or an IPv6 /64, which a household usually has.
struct AddressKey: LimitedKey, CustomStringConvertible {
    /// The first 64 bits of an IPv6 address, or an IPv4 address behind 0x0000FFFF. No IPv6 address in use has that
    /// prefix.
    let value: UInt64

    var description: String { String(value, radix: 16) }

    private var isIPv4: Bool { value >> 32 == 0xFFFF }

    /// The IPv6 network of the given length, 64 at most; `nil` for an IPv4 address.
    func network(ofBits bits: Int) -> AddressKey? {
        isIPv4 ? nil : AddressKey(value: value & ~UInt64(0) << UInt64(64 - bits))
    }

    /// The typical network of one provider: an IPv6 /32, an IPv4 /16.
    var neighbourhood: UInt64 { isIPv4 ? value >> 16 : value >> 32 }
}

/// What counts as one user. Users of different issuers may have the same identifier.
struct UserKey: LimitedKey, CustomStringConvertible {
    let id: UUID
    /// 0 for Gatehouse's own users.
    let issuerPlace: Int

    init(id: UUID, issuerPlace: Int) {
        self.id = id
        self.issuerPlace = issuerPlace
    }

    /// A user of another issuer, by half of a digest of the name: names may be long.
    init(name: String, issuerPlace: Int) {
        let id = SHA256.hash(data: Data(name.utf8)).withUnsafeBytes { $0.loadUnaligned(as: uuid_t.self) }
        self.init(id: UUID(uuid: id), issuerPlace: issuerPlace)
    }

    var description: String { issuerPlace == 0 ? id.uuidString : "\(id.uuidString)@\(issuerPlace)" }

    /// Hashed: users cannot choose their neighbours.
    var neighbourhood: UInt64 { UInt64(truncatingIfNeeded: hashValue) }
}
