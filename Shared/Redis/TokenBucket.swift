/// The rule of a token bucket: so many at once, and so many again each second.
///
/// The whole state of a bucket is the time at which it is full again; one that is full needs no state.
/// Times and durations are in microseconds.
struct TokenBucket: Sendable, Equatable {
    let capacity: Int
    /// How long one token takes to come back.
    let interval: Int64

    init(capacity: Int, refillPerSecond: Double) {
        precondition(capacity > 0 && refillPerSecond > 0, "a bucket holds something and fills")
        self.init(capacity: capacity, interval: max(Int64(1_000_000 / refillPerSecond), 1))
    }

    private init(capacity: Int, interval: Int64) {
        self.capacity = capacity
        self.interval = interval
    }

    /// The same for so many together.
    func times(_ factor: Int) -> TokenBucket {
        TokenBucket(capacity: capacity * factor, interval: max(interval / Int64(factor), 1))
    }

    /// - Parameter fullAt: the bucket's state; any time in the past is a full one.
    /// - Returns: the decision, and the state after it, `nil` where it has not changed.
    func take(_ cost: Int, fullAt: Int64, now: Int64) -> (decision: RateLimitDecision, fullAt: Int64?) {
        let next = max(fullAt, now) + Int64(cost) * interval
        let room = now + Int64(capacity) * interval - next
        guard room >= 0 else { return (.refused(retryAfter: .microseconds(-room)), nil) }
        return (.allowed(remaining: Int(room / interval)), next > now ? next : nil)
    }
}

/// What a rate limit says.
public enum RateLimitDecision: Sendable, Hashable {
    /// - Parameter remaining: how many more would be allowed at once.
    case allowed(remaining: Int)
    /// - Parameter retryAfter: when the same request would be allowed, if nobody else comes first.
    case refused(retryAfter: Duration)

    public var isAllowed: Bool {
        if case .allowed = self { true } else { false }
    }
}
