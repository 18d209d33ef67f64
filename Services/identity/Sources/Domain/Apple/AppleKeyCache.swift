/// When Apple's keys are fetched, and which keys are used while they cannot be: a pure state machine.
///
/// When a fetch fails, the known keys are used on, up to a limit. A key id that is not among them causes a fetch, but at
/// most one in a while, so that forged tokens do not cause one each.
struct AppleKeyCache<Keys: Sendable>: Sendable {
    struct Rules: Sendable {
        /// Keys older than this are fetched again, in the background.
        var maximumAge: Duration = .seconds(600)
        /// Keys older than this are not used any more.
        var staleLimit: Duration = .seconds(86_400)
        /// Between two fetches that unknown key ids cause, also when they fail.
        var unknownKeyCooldown: Duration = .seconds(30)
        /// Between two attempts while there are no keys at all.
        var retryInterval: Duration = .seconds(1)
    }

    enum Decision: Equatable {
        /// The key is there.
        case use
        /// The key is there; the keys are to be fetched again in the background.
        case useAndRefresh
        /// Fetch now, then decide again.
        case fetch
        /// Apple has no such key.
        case unknownKey
        /// Apple cannot be asked whether it has such a key.
        case unavailable
    }

    private(set) var keys: Keys?
    private var fetchedAt: ContinuousClock.Instant?
    private var attemptedAt: ContinuousClock.Instant?
    private var unknownKeyFetchAt: ContinuousClock.Instant?
    private var lastFetchFailed = false
    private let rules: Rules

    init(rules: Rules = Rules()) {
        self.rules = rules
    }

    /// - Parameters:
    ///   - hasFetched: whether a fetch for this question has just ended.
    ///   - has: whether the keys hold the one that is asked for.
    mutating func decide(now: ContinuousClock.Instant, hasFetched: Bool, has: (Keys) -> Bool) -> Decision {
        guard let keys, let fetchedAt, now - fetchedAt < rules.staleLimit else {
            return !hasFetched && isOver(rules.retryInterval, since: attemptedAt, now) ? .fetch : .unavailable
        }
        if has(keys) {
            let isDue = now - fetchedAt >= rules.maximumAge && isOver(rules.unknownKeyCooldown, since: attemptedAt, now)
            return isDue ? .useAndRefresh : .use
        }
        if !hasFetched, isOver(rules.unknownKeyCooldown, since: unknownKeyFetchAt, now) {
            unknownKeyFetchAt = now
            return .fetch
        }
        return lastFetchFailed ? .unavailable : .unknownKey
    }

    mutating func attempted(now: ContinuousClock.Instant) {
        attemptedAt = now
    }

    mutating func fetched(_ keys: Keys, now: ContinuousClock.Instant) {
        self.keys = keys
        fetchedAt = now
        lastFetchFailed = false
    }

    mutating func failed() {
        lastFetchFailed = true
    }

    private func isOver(
        _ interval: Duration, since instant: ContinuousClock.Instant?, _ now: ContinuousClock.Instant
    ) -> Bool {
        instant.map { now - $0 >= interval } ?? true
    }
}
