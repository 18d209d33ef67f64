import Synchronization

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
    private let unit: Unit

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
    public func take(_ cost: Int, fullAt: Int64, now: Int64) -> (decision: RateLimitDecision, fullAt: Int64?) {
        let next = max(fullAt, now) + Int64(cost) * interval
        let room = now + Int64(capacity) * interval - next
        guard room >= 0 else {
            let wait: Duration = unit == .microseconds ? .microseconds(-room) : .nanoseconds(-room)
            return (.refused(retryAfter: wait), nil)
        }
        return (.allowed(remaining: Int(room / interval)), next > now ? next : nil)
    }
}

/// A bounded number of token buckets in this process's memory.
///
/// Only full buckets are removed, because a new one has the same state. While no room is left, new keys share a fixed
/// number of buckets with many times the capacity. So a flood of keys neither resets a count nor locks a client out.
public final class LocalTokenBuckets: Sendable {
    private struct State {
        /// By key, when the bucket is full again (microseconds).
        var fullAt: [String: Int64] = [:]
        /// Before this time full buckets are not searched again.
        var nextScan = Int64.min
        /// The same for the shared ones, by place.
        var shared: [Int: Int64] = [:]
    }

    private static let sharedCount = 256
    private static let shareFactor = 64
    /// The minimum time between two scans of all buckets, in microseconds.
    private static let pause: Int64 = 1_000_000

    private let bucket: TokenBucket
    private let sharedBucket: TokenBucket
    private let maximumCount: Int
    private let state = Mutex(State())

    /// - Parameters:
    ///   - bucket: the rule of each.
    ///   - maximumCount: the most buckets that are kept (about 100 bytes each).
    public init(bucket: TokenBucket, maximumCount: Int = 10_000) {
        self.bucket = bucket
        self.maximumCount = maximumCount
        sharedBucket = bucket.times(Self.shareFactor)
    }

    /// Takes `cost` tokens from the bucket of `key`, all or none.
    ///
    /// - Parameter now: microseconds on a monotonic clock.
    public func take(_ cost: Int, from key: String, now: Int64 = uptime) -> RateLimitDecision {
        // Hashed, so that an attacker cannot choose which clients share the bucket.
        let place = Int(UInt(bitPattern: key.hashValue) % UInt(Self.sharedCount))
        return state.withLock { state in
            if state.fullAt[key] == nil, !makeRoom(in: &state, now: now) {
                let (decision, next) = sharedBucket.take(cost, fullAt: state.shared[place] ?? 0, now: now)
                if let next { state.shared[place] = next }
                return decision
            }
            let (decision, next) = bucket.take(cost, fullAt: state.fullAt[key] ?? 0, now: now)
            if let next { state.fullAt[key] = next }
            return decision
        }
    }

    /// Refunds tokens that should not count. Tokens from a shared bucket are not refunded.
    ///
    /// - Parameter now: as for ``take(_:from:now:)``.
    public func refund(_ cost: Int, to key: String, now: Int64 = uptime) {
        state.withLock { state in
            guard let full = state.fullAt[key] else { return }
            let next = full - Int64(cost) * bucket.interval
            state.fullAt[key] = next > now ? next : nil
        }
    }

    /// How many keys have a bucket of their own.
    public var count: Int { state.withLock { $0.fullAt.count } }

    /// Microseconds since this process first asked.
    public static var uptime: Int64 {
        let (seconds, attoseconds) = start.duration(to: .now).components
        return seconds * 1_000_000 + attoseconds / 1_000_000_000_000
    }

    private static let start = ContinuousClock.now

    /// - Returns: whether there is room for one more.
    private func makeRoom(in state: inout State, now: Int64) -> Bool {
        guard state.fullAt.count >= maximumCount, now >= state.nextScan else {
            return state.fullAt.count < maximumCount
        }
        state.nextScan = now + Self.pause
        state.fullAt = state.fullAt.filter { $0.value > now }
        return state.fullAt.count < maximumCount
    }
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
    public var retryAfter: Duration? {
        if case .refused(let retryAfter) = self { retryAfter } else { nil }
    }
}
