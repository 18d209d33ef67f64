/// When Apple's keys are fetched, and which keys are used while they cannot be: a pure state machine.
///
/// When a fetch fails, the known keys are used on, up to a limit, and the fetch is tried again after a pause that
/// doubles. A key id that is not among the keys causes a fetch, but at most one in a while, so that forged tokens do not
/// cause one each.
struct AppleKeyCache<Keys: Sendable>: Sendable {
    struct Rules: Sendable {
        /// Keys older than this are fetched again, in the background.
        var maximumAge: Duration = .seconds(600)
        /// Keys older than this are not used any more.
        var staleLimit: Duration = .seconds(86_400)
        /// Between two fetches that unknown key ids cause, and the longest pause after a fetch that failed.
        var unknownKeyCooldown: Duration = .seconds(30)
        /// The pause after the first fetch that failed; it doubles with each further one. While there are no keys at
        /// all nobody can sign in, and it stays what it is.
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
    /// When a fetch for an unknown key id was begun that has not failed.
    private var unknownKeyFetchAt: ContinuousClock.Instant?
    private var failedAt: ContinuousClock.Instant?
    /// Fetches that failed since the last one that did not.
    private var failures = 0
    private let rules: Rules

    init(rules: Rules = Rules()) {
        self.rules = rules
    }

    /// - Parameters:
    ///   - hasFetched: whether a fetch for this question has just ended.
    ///   - has: whether the keys hold the one that is asked for.
    mutating func decide(now: ContinuousClock.Instant, hasFetched: Bool, has: (Keys) -> Bool) -> Decision {
        guard let keys, let fetchedAt, now - fetchedAt < rules.staleLimit else {
            return !hasFetched && isOver(rules.retryInterval, since: failedAt, now) ? .fetch : .unavailable
        }
        if has(keys) {
            return now - fetchedAt >= rules.maximumAge && mayRetry(now) ? .useAndRefresh : .use
        }
        if failures > 0 {
            // Whether Apple has such a key is not known, so that nobody is told that it has none.
            guard !hasFetched, mayRetry(now) else { return .unavailable }
        } else {
            guard !hasFetched, isOver(rules.unknownKeyCooldown, since: unknownKeyFetchAt, now) else {
                return .unknownKey
            }
        }
        unknownKeyFetchAt = now
        return .fetch
    }

    mutating func fetched(_ keys: Keys, now: ContinuousClock.Instant) {
        self.keys = keys
        fetchedAt = now
        failedAt = nil
        failures = 0
    }

    mutating func failed(now: ContinuousClock.Instant) {
        failedAt = now
        failures += 1
        // The key ids that nobody could be asked about are worth another fetch.
        unknownKeyFetchAt = nil
    }

    private func mayRetry(_ now: ContinuousClock.Instant) -> Bool {
        isOver(pause, since: failedAt, now)
    }

    /// After the fetches that have failed so far.
    private var pause: Duration {
        min(rules.retryInterval * (1 << min(max(failures - 1, 0), 16)), rules.unknownKeyCooldown)
    }

    private func isOver(
        _ interval: Duration, since instant: ContinuousClock.Instant?, _ now: ContinuousClock.Instant
    ) -> Bool {
        instant.map { now - $0 >= interval } ?? true
    }
}
