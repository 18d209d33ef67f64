/// A token bucket: `capacity` requests at once, refilled at `perSecond`.
///
/// Kept as one number for each key (the generic cell rate algorithm): the moment at which the bucket is full again.
struct RateLimit: Sendable, Equatable {
    /// Why a request is not admitted.
    struct Refusal: Sendable, Equatable {
        /// Nanoseconds after which it would be.
        let wait: Int64
        /// What is used up.
        let limit: RateLimit
    }

    let capacity: Int
    let perSecond: Double

    private var interval: Int64 { max(1, Int64(1_000_000_000 / perSecond)) }

    /// The same for so many together.
    func times(_ factor: Int) -> RateLimit {
        RateLimit(capacity: capacity * factor, perSecond: perSecond * Double(factor))
    }

    /// Takes one token.
    ///
    /// - Parameters:
    ///   - fullAt: the bucket's state; 0 for a new one. Nanoseconds.
    ///   - now: nanoseconds of a monotonic clock.
    /// - Returns: `nil` when the request is admitted, else the nanoseconds after which it would be.
    func take(_ fullAt: inout Int64, now: Int64) -> Int64? {
        let next = max(fullAt, now) + interval
        let wait = next - now - Int64(capacity) * interval
        guard wait <= 0 else { return wait }
        fullAt = next
        return nil
    }

    /// - Returns: `nil` when a request would be admitted, else the nanoseconds after which it would be.
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
