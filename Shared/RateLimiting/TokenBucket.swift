/// The rule of a token bucket: so many at once, and so many again each second.
///
/// The whole state of a bucket is the time at which it is full again; one that is full needs no state.
/// Times and durations are in microseconds.
public struct TokenBucket: Sendable, Equatable {
    /// How many tokens a full bucket holds.
    public let capacity: Int
    /// How long one token takes to come back.
    public let interval: Int64

    /// - Parameters:
    ///   - capacity: how many at once; 1 or more.
    ///   - refillPerSecond: how many over time; more than 0.
    public init(capacity: Int, refillPerSecond: Double) {
        precondition(capacity > 0 && refillPerSecond > 0, "a bucket holds something and fills")
        self.init(capacity: capacity, interval: max(Int64(1_000_000 / refillPerSecond), 1))
    }

    private init(capacity: Int, interval: Int64) {
        self.capacity = capacity
        self.interval = interval
    }

    /// The same for so many together.
    public func times(_ factor: Int) -> TokenBucket {
        TokenBucket(capacity: capacity * factor, interval: max(interval / Int64(factor), 1))
    }

    /// Takes `cost` tokens, all or none.
    ///
    /// - Parameter fullAt: the bucket's state; any time in the past is a full one.
    /// - Returns: the decision, and the state after it, `nil` where it has not changed.
    public func take(_ cost: Int, fullAt: Int64, now: Int64) -> (decision: RateLimitDecision, fullAt: Int64?) {
        let next = max(fullAt, now) + Int64(cost) * interval
        let room = now + Int64(capacity) * interval - next
        guard room >= 0 else { return (.refused(retryAfter: .microseconds(-room)), nil) }
        return (.allowed(remaining: Int(room / interval)), next > now ? next : nil)
    }
}
