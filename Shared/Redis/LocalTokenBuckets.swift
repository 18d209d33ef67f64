import Synchronization

/// Token buckets in this process's memory, of which it keeps a bounded number.
final class LocalTokenBuckets: Sendable {
    private let bucket: TokenBucket
    private let maximumCount: Int
    /// By key, when the bucket is full again (microseconds).
    private let fullAt = Mutex<[String: Int64]>([:])

    init(bucket: TokenBucket, maximumCount: Int) {
        self.bucket = bucket
        self.maximumCount = maximumCount
    }

    /// - Parameter now: microseconds on any clock that does not go back.
    func take(_ cost: Int, from key: String, now: Int64) -> RateLimitDecision {
        fullAt.withLock { fullAt in
            let (decision, next) = bucket.take(cost, fullAt: fullAt[key] ?? 0, now: now)
            if let next {
                if fullAt.count >= maximumCount, fullAt[key] == nil { Self.makeRoom(in: &fullAt, now: now) }
                fullAt[key] = next
            }
            return decision
        }
    }

    var count: Int { fullAt.withLock { $0.count } }

    /// Forgets the buckets that are full, and where that is not enough the half that is nearest to it, so that
    /// the work is shared by many insertions.
    private static func makeRoom(in fullAt: inout [String: Int64], now: Int64) {
        let count = fullAt.count
        fullAt = fullAt.filter { $0.value > now }
        guard fullAt.count > count / 2 else { return }
        let middle = fullAt.values.sorted()[fullAt.count / 2]
        fullAt = fullAt.filter { $0.value > middle }
    }
}
