import Synchronization

/// One rate limit, counted for each client address in this process.
final class AddressLimiter: Sendable {
    private final class Shard: Sendable {
        let buckets = Mutex<(current: [AddressKey: Int64], previous: [AddressKey: Int64])>(([:], [:]))
    }

    /// So that event loops seldom wait for each other.
    private static let shardCount = 16
    private static let bucketsPerShard = 4096

    private let limit: RateLimit
    private let shards = (0..<shardCount).map { _ in Shard() }

    init(_ limit: RateLimit) { self.limit = limit }

    /// - Returns: `nil` when the request is admitted, else the nanoseconds after which it would be.
    func take(_ key: AddressKey, now: Int64) -> Int64? {
        shard(of: key).buckets.withLock { buckets in
            var fullAt = buckets.current[key] ?? buckets.previous[key] ?? 0
            let wait = limit.take(&fullAt, now: now)
            // Forgets, of many addresses, those that were not seen of late.
            if buckets.current.count >= Self.bucketsPerShard {
                buckets = (current: [:], previous: buckets.current)
            }
            buckets.current[key] = fullAt
            return wait
        }
    }

    /// Others have counted more of this address than this process has: it is refused for a while.
    func refuse(_ key: AddressKey, for wait: Duration, now: Int64) {
        let fullAt = limit.exhausted(for: wait.nanoseconds, now: now)
        shard(of: key).buckets.withLock { $0.current[key] = fullAt }
    }

    private func shard(of key: AddressKey) -> Shard {
        shards[Int(truncatingIfNeeded: UInt(bitPattern: key.hashValue) % UInt(Self.shardCount))]
    }
}

/// What counts as one client: an IPv4 address, or the 64 bits that an IPv6 network gives its household.
struct AddressKey: Hashable, Sendable {
    let value: UInt64
}
