import GatehouseLimits

/// One rate limit, counted for each address or user in this process.
///
/// Every request takes from several limiters, so a key is not written as text.
final class RateLimiter<Key: LimitedKey>: Sendable {
    /// Reports to other replicas how many requests of one address or user were admitted here since the last report.
    typealias Report = @Sendable (RateLimiter, _ key: Key, _ count: Int) -> Void

    /// A limit is reported in this many parts. Each replica's count is wrong by at most one part.
    private static var reportParts: Int { 32 }

    let limit: RateLimit
    private let buckets: TokenBuckets<Key>
    private let report: Report
    private let onSharing: @Sendable () -> Void

    /// - Parameters:
    ///   - report: `nil`: each replica counts alone.
    ///   - onSharing: called for each request that counted in a shared bucket.
    init(_ limit: RateLimit, report: Report? = nil, onSharing: @escaping @Sendable () -> Void = {}) {
        self.limit = limit
        self.onSharing = onSharing
        self.report = report ?? { _, _, _ in }
        // Several shards, so that event loops seldom wait for each other's lock.
        buckets = TokenBuckets(
            bucket: limit.bucket, capacity: 65_536, shards: 16, sharedCount: 4096,
            reportSize: report == nil ? .max : (limit.capacity + Self.reportParts - 1) / Self.reportParts)
    }

    /// The number of buckets now.
    var count: Int { buckets.count }

    /// - Parameter now: nanoseconds of a monotonic clock.
    /// - Returns: `nil` when the request is admitted, else how long until it would be.
    func take(_ key: Key, now: Int64) -> Duration? {
        let taken = buckets.take(from: key, now: now)
        if taken.isShared { onSharing() }
        if taken.toReport > 0 { report(self, key, taken.toReport) }
        return taken.decision.retryAfter
    }

    /// How long until `take` would admit a request, without counting one; `nil`: it would now.
    func delay(of key: Key, now: Int64) -> Duration? { buckets.check(of: key, now: now).retryAfter }

    /// All replicas together have exceeded the limit: no request of this key is admitted for `wait`.
    func exhaust(_ key: Key, for wait: Duration, now: Int64) {
        buckets.exhaust(key, for: wait.nanoseconds, now: now)
    }
}
