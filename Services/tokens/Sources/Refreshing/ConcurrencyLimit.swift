// Pure: no I/O, no clock.

/// Limits concurrent work. The limit adapts to the duration of the work: additive increase, multiplicative decrease, as
/// in TCP's congestion control (Chiu and Jain, "Analysis of the increase and decrease algorithms", 1989).
///
/// Slow work waits for a processor or a database. More concurrency would make all work wait longer, until clients give
/// up before the response.
struct ConcurrencyLimit: Sendable {
    typealias Instant = ContinuousClock.Instant

    /// Work that takes longer than this lowers the limit.
    static let target = Duration.milliseconds(500)
    /// The lower bound keeps the processors busy. The upper bound is more than any machine can use.
    static let range = 16.0...1024.0
    private static let decrease = 0.7
    /// The time in which a limit recovers from zero to its initial value.
    static let recovery = Duration.seconds(30)

    private let initial: Double
    private(set) var limit: Double
    private(set) var underWay = 0
    private var decreasedAt: Instant?
    /// When the recovery was last applied to the limit.
    private var recoveredAt: Instant?

    /// - Parameter limit: the initial limit.
    init(limit: Double = 128) {
        initial = limit
        self.limit = limit
    }

    /// - Returns: whether the work may begin. If so, the caller must call `end`.
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
            // The duration of work that began before the last decrease does not measure the new limit.
            if let decreasedAt, start <= decreasedAt { return }
            limit = max(limit * Self.decrease, min(limit, Self.range.lowerBound))
            decreasedAt = now
            recoveredAt = now
        } else if isMuch {
            limit = min(limit + 1 / limit, Self.range.upperBound)
        }
    }

    /// Raises a lowered limit over time, even without new work: the cause of the slow work has probably ended.
    private mutating func recover(at now: Instant) {
        guard limit < initial, let last = recoveredAt, now > last else { return }
        limit = min(limit + initial * (last.duration(to: now) / Self.recovery), initial)
        recoveredAt = now
    }
}
