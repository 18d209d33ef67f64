// Pure: no I/O, no clock.

/// A pure state machine that decides when to fetch Apple's keys, and which keys to use while they cannot be fetched.
///
/// After a failed fetch the known keys stay in use up to a limit, and the fetch is retried after a pause that doubles.
/// An unknown key id triggers a fetch, but only once per cooldown, so that forged tokens do not each cause a fetch.
///
/// Unlike `GatehouseTokenValidation.IssuerKeys`, which polls, this cache fetches on demand: an installation without
/// Apple fetches nothing.
struct AppleKeyCache<Keys: Sendable>: Sendable {
    struct Rules: Sendable {
        /// Older keys are fetched again in the background.
        var maximumAge: Duration = .seconds(600)
        /// Older keys are no longer used.
        var staleLimit: Duration = .seconds(86_400)
        /// The shortest time between two fetches that unknown key ids trigger, and the longest pause after a failed
        /// fetch.
        var unknownKeyCooldown: Duration = .seconds(30)
        /// The pause after the first failed fetch. It doubles with each further failure, except while there are no
        /// usable keys, because no user can sign in with Apple then.
        var retryInterval: Duration = .seconds(1)
    }

    enum Decision: Equatable {
        /// The key is known.
        case use
        /// The key is known, and the keys have to be fetched again in the background.
        case useAndRefresh
        /// Fetch now, then decide again.
        case fetch
        /// Apple has no such key.
        case unknownKey
        /// Apple's keys cannot be fetched, so it is unknown whether Apple has such a key.
        case unavailable
    }

    private(set) var keys: Keys?
    private var fetchedAt: ContinuousClock.Instant?
    /// When a fetch for an unknown key id was started that has not failed.
    private var unknownKeyFetchAt: ContinuousClock.Instant?
    private var failedAt: ContinuousClock.Instant?
    /// Consecutive failed fetches.
    private var failures = 0
    private let rules: Rules

    init(rules: Rules = Rules()) {
        self.rules = rules
    }

    /// - Parameters:
    ///   - hasFetched: whether a fetch for this decision has just ended.
    ///   - has: whether the keys include the requested one.
    mutating func decide(now: ContinuousClock.Instant, hasFetched: Bool, has: (Keys) -> Bool) -> Decision {
        guard let keys, let fetchedAt, now - fetchedAt < rules.staleLimit else {
            return !hasFetched && isOver(rules.retryInterval, since: failedAt, now) ? .fetch : .unavailable
        }
        if has(keys) {
            return now - fetchedAt >= rules.maximumAge && mayRetry(now) ? .useAndRefresh : .use
        }
        if failures > 0 {
            // Answering "unknown key" would be wrong: Apple may have such a key.
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
        // Unknown key ids may trigger a fetch again, because the last fetch failed.
        unknownKeyFetchAt = nil
    }

    private func mayRetry(_ now: ContinuousClock.Instant) -> Bool {
        isOver(pause, since: failedAt, now)
    }

    /// The pause after the current number of failures.
    private var pause: Duration {
        min(rules.retryInterval * (1 << min(max(failures - 1, 0), 16)), rules.unknownKeyCooldown)
    }

    private func isOver(
        _ interval: Duration, since instant: ContinuousClock.Instant?, _ now: ContinuousClock.Instant
    ) -> Bool {
        instant.map { now - $0 >= interval } ?? true
    }
}
