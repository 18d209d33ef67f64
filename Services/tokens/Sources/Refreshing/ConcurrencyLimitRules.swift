/// Limits how much work is under way at once. The limit adapts to how long work takes: additive increase,
/// multiplicative decrease, as in TCP's congestion control (Chiu and Jain, "Analysis of the increase and decrease
/// algorithms", 1989).
///
/// Work that takes long waits for a processor or a database. With more of it at once, everything would wait longer,
/// until clients give up before they are answered.
struct ConcurrencyLimit: Sendable {
    typealias Instant = ContinuousClock.Instant

    /// Work that takes longer than this lowers the limit.
    static let target = Duration.milliseconds(500)
    /// The lowest limit keeps the processors busy; the highest is more than any machine can use.
    static let range = 16.0...1024.0
    private static let decrease = 0.7
    /// The time in which a limit recovers from zero to its initial value.
    static let recovery = Duration.seconds(30)

    private let initial: Double
    private(set) var limit: Double
    private(set) var underWay = 0
    private var decreasedAt: Instant?
    /// When the limit's recovery was last brought up to date.
    private var recoveredAt: Instant?

    /// - Parameter limit: to begin with.
    init(limit: Double = 128) {
        initial = limit
        self.limit = limit
    }

    /// - Returns: whether the work may begin. If so, `end` has to follow.
    mutating func begin(at now: Instant) -> Bool {
        recover(at: now)
        guard underWay < Int(limit) else { return false }
        underWay += 1
        return true
    }

    mutating func end(begunAt start: Instant, at now: Instant) {
        let isMuch = underWay * 2 > Int(limit)
        underWay -= 1
        if start.duration(to: now) > Self.target {
            // Work that began before the last decrease says nothing about the limit since then.
            if let decreasedAt, start <= decreasedAt { return }
            limit = max(limit * Self.decrease, min(limit, Self.range.lowerBound))
            decreasedAt = now
            recoveredAt = now
        } else if isMuch {
            limit = min(limit + 1 / limit, Self.range.upperBound)
        }
    }

    /// Raises a lowered limit with time, also when no work comes in: what made work slow a while ago is probably over.
    private mutating func recover(at now: Instant) {
        guard limit < initial, let last = recoveredAt, now > last else { return }
        limit = min(limit + initial * (last.duration(to: now) / Self.recovery), initial)
        recoveredAt = now
    }
}
