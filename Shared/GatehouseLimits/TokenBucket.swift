/// The rule of a token bucket: its capacity, and its refill each second.
///
/// The whole state of a bucket is the time at which it is full again; one that is full needs no state.
public struct TokenBucket: Sendable, Equatable {
    /// The unit of all times.
    public enum Unit: Int64, Sendable {
        /// The unit of Redis' clock.
        case microseconds = 1_000_000
        /// For rates at which a token comes back within a few microseconds.
        case nanoseconds = 1_000_000_000
    }

    /// How many tokens a full bucket holds.
    public let capacity: Int
    /// How long one token takes to come back.
    public let interval: Int64
    @usableFromInline let unit: Unit

    /// - Parameters:
    ///   - capacity: how many at once; 1 or more.
    ///   - refillPerSecond: how many over time; more than 0.
    public init(capacity: Int, refillPerSecond: Double, unit: Unit = .microseconds) {
        precondition(capacity > 0 && refillPerSecond > 0, "capacity and refill must be positive")
        self.init(
            capacity: capacity, interval: max(Int64(Double(unit.rawValue) / refillPerSecond), 1), unit: unit)
    }

    private init(capacity: Int, interval: Int64, unit: Unit) {
        self.capacity = capacity
        self.interval = interval
        self.unit = unit
    }

    /// The rule with capacity and refill multiplied.
    public func times(_ factor: Int) -> TokenBucket {
        TokenBucket(capacity: capacity * factor, interval: max(interval / Int64(factor), 1), unit: unit)
    }

    /// Takes `cost` tokens, all or none.
    ///
    /// - Parameter fullAt: the bucket's state; any time in the past is a full one.
    /// - Returns: the decision, and the state after it, `nil` where it has not changed.
    @inlinable
    public func take(_ cost: Int, fullAt: Int64, now: Int64) -> (decision: RateLimitDecision, fullAt: Int64?) {
        let (room, next) = room(after: cost, fullAt: fullAt, now: now)
        return (decision(leaving: room), room >= 0 && next > now ? next : nil)
    }

    /// The room that is left in the bucket after `cost` tokens, below 0 if it has fewer, and the state with so many
    /// less.
    @inlinable
    public func room(after cost: Int, fullAt: Int64, now: Int64) -> (room: Int64, fullAt: Int64) {
        let next = max(fullAt, now) + Int64(cost) * interval
        return (now + Int64(capacity) * interval - next, next)
    }

    /// The decision that leaves this room.
    @inlinable
    public func decision(leaving room: Int64) -> RateLimitDecision {
        guard room < 0 else { return .allowed(remaining: Int(room / interval)) }
        return .refused(retryAfter: unit == .microseconds ? .microseconds(-room) : .nanoseconds(-room))
    }

    /// Microseconds since this process first asked.
    public static var uptime: Int64 {
        let (seconds, attoseconds) = start.duration(to: .now).components
        return seconds * 1_000_000 + attoseconds / 1_000_000_000_000
    }

    private static let start = ContinuousClock.now
}

/// The decision of a rate limit.
public enum RateLimitDecision: Sendable, Hashable {
    /// - Parameter remaining: how many more tokens could be taken at once.
    case allowed(remaining: Int)
    /// - Parameter retryAfter: when the same request would be allowed, unless other requests take tokens first.
    case refused(retryAfter: Duration)

    /// Whether the tokens were taken.
    public var isAllowed: Bool {
        if case .allowed = self { true } else { false }
    }

    /// Of a refusal.
    @inlinable public var retryAfter: Duration? {
        if case .refused(let retryAfter) = self { retryAfter } else { nil }
    }
}
