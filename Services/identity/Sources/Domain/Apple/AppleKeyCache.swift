/// When Apple's keys are fetched, and what stands while they cannot be: a pure state machine.
///
/// Good keys outlive failed fetches, up to a limit. A name that is not among them is worth one fetch, but not one fetch
/// for each forged token.
struct AppleKeyCache<Keys: Sendable>: Sendable {
    struct Rules: Sendable {
        /// Keys older than this are fetched again, in the background.
        var maximumAge: Duration = .seconds(600)
        /// Keys older than this are as good as none.
        var staleLimit: Duration = .seconds(86_400)
        /// Between two fetches that unknown names caused, failed ones too.
        var unknownKeyCooldown: Duration = .seconds(30)
        /// Between two attempts while there are no keys at all.
        var retryInterval: Duration = .seconds(1)
    }

    enum Decision: Equatable {
        /// The key is there.
        case use
        /// The key is there, but the set should be fetched again by and by.
        case useAndRefresh
        /// Fetch now, then decide again.
        case fetch
        /// Apple has no such key.
        case unknownKey
        /// Whether Apple has such a key cannot be told.
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
    ///   - has: whether the keys hold the wanted one.
    ///   - hasFetched: a fetch has just ended on behalf of this question.
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
