/// How much work may be under way at once, found by how long it takes: additive increase, multiplicative decrease, as
/// TCP's congestion control (Chiu and Jain, "Analysis of the increase and decrease algorithms", 1989).
///
/// Work that takes long waits for a processor or a database. More of it at once would be done no faster: all of it would
/// wait longer, until nobody waits for its answer any more.
struct ConcurrencyLimit: Sendable {
    typealias Instant = ContinuousClock.Instant

    /// What takes longer takes too long.
    static let target = Duration.milliseconds(500)
    /// Enough to keep the processors busy, and no more than can be meant.
    static let range = 16.0...1024.0
    private static let decrease = 0.7
    /// In this time a limit that was lowered to nothing would be what it was to begin with.
    static let recovery = Duration.seconds(30)

    private let initial: Double
    private(set) var limit: Double
    private(set) var underWay = 0
    private var decreasedAt: Instant?
    /// Up to when the limit has recovered.
    private var recoveredAt: Instant?

    /// - Parameter limit: to begin with.
    init(limit: Double = 128) {
        initial = limit
        self.limit = limit
    }

    /// - Returns: whether the work may begin; then `end` follows.
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
            // What began before the last decrease does not know of it.
            if let decreasedAt, start <= decreasedAt { return }
            limit = max(limit * Self.decrease, min(limit, Self.range.lowerBound))
            decreasedAt = now
            recoveredAt = now
        } else if isMuch {
            limit = min(limit + 1 / limit, Self.range.upperBound)
        }
    }

    /// What made work slow once is not held against what comes much later, whether or not there was any in between.
    private mutating func recover(at now: Instant) {
        guard limit < initial, let last = recoveredAt, now > last else { return }
        limit = min(limit + initial * (last.duration(to: now) / Self.recovery), initial)
        recoveredAt = now
    }
}
