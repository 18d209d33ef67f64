import Testing

@testable import IdentityCredentials

@Suite struct AppleKeyCacheTests {
    private typealias Cache = AppleKeyCache<Set<String>>
    private let start = ContinuousClock.now

    private func at(_ seconds: Int) -> ContinuousClock.Instant { start + .seconds(seconds) }

    private func ask(_ cache: inout Cache, for kid: String, at seconds: Int, hasFetched: Bool = false) -> Cache.Decision
    {
        cache.decide(now: at(seconds), hasFetched: hasFetched) { $0.contains(kid) }
    }

    private func fetch(_ cache: inout Cache, _ keys: Set<String>?, at seconds: Int) {
        if let keys { cache.fetched(keys, now: at(seconds)) } else { cache.failed(now: at(seconds)) }
    }

    @Test func withoutKeysItFetchesOncePerSecondAndSaysUnavailable() {
        var cache = Cache()
        #expect(ask(&cache, for: "a", at: 0) == .fetch)
        fetch(&cache, nil, at: 0)
        #expect(ask(&cache, for: "a", at: 0, hasFetched: true) == .unavailable)
        #expect(ask(&cache, for: "a", at: 0) == .unavailable)
        #expect(ask(&cache, for: "a", at: 1) == .fetch)
        fetch(&cache, ["a"], at: 1)
        #expect(ask(&cache, for: "a", at: 1, hasFetched: true) == .use)
    }

    @Test func anUnknownKeyIDCausesOneFetchInThirtySeconds() {
        var cache = Cache()
        fetch(&cache, ["a"], at: 0)
        #expect(ask(&cache, for: "b", at: 1) == .fetch)
        fetch(&cache, ["a"], at: 1)
        #expect(ask(&cache, for: "b", at: 1, hasFetched: true) == .unknownKey)
        #expect(ask(&cache, for: "c", at: 30) == .unknownKey)
        #expect(ask(&cache, for: "c", at: 31) == .fetch)
        fetch(&cache, ["a", "c"], at: 31)
        #expect(ask(&cache, for: "c", at: 31, hasFetched: true) == .use)
    }

    /// The pause after a failure doubles from a second up to the cooldown, and Apple's return ends it.
    @Test func anUnknownKeyIDAfterAFailedFetchIsUnavailable() {
        var cache = Cache()
        fetch(&cache, ["a"], at: 0)
        #expect(ask(&cache, for: "b", at: 1) == .fetch)
        var failedAt = 1
        for pause in [1, 2, 4, 8, 16, 30, 30] {
            fetch(&cache, nil, at: failedAt)
            #expect(ask(&cache, for: "b", at: failedAt, hasFetched: true) == .unavailable)
            #expect(ask(&cache, for: "b", at: failedAt + pause - 1) == .unavailable)
            #expect(ask(&cache, for: "a", at: failedAt + pause - 1) == .use)
            failedAt += pause
            #expect(ask(&cache, for: "b", at: failedAt) == .fetch)
        }
        fetch(&cache, ["a", "b"], at: failedAt)
        #expect(ask(&cache, for: "b", at: failedAt, hasFetched: true) == .use)
        // From here on the cooldown holds again, and a new failure begins with the shortest pause.
        #expect(ask(&cache, for: "c", at: failedAt + 29) == .unknownKey)
        #expect(ask(&cache, for: "c", at: failedAt + 30) == .fetch)
        fetch(&cache, nil, at: failedAt + 30)
        #expect(ask(&cache, for: "c", at: failedAt + 31) == .fetch)
    }

    /// The keys came of age and were fetched in the background: the cache does not know yet if Apple has the new one.
    @Test func anUnknownKeyIDIsNotRefusedWhenAnotherFetchWorks() {
        var cache = Cache()
        fetch(&cache, ["a"], at: 0)
        #expect(ask(&cache, for: "b", at: 599) == .fetch)
        fetch(&cache, nil, at: 599)
        #expect(ask(&cache, for: "a", at: 600) == .useAndRefresh)
        fetch(&cache, ["a"], at: 600)
        #expect(ask(&cache, for: "b", at: 601) == .fetch)
    }

    /// While Apple is away a request asks it at most once in a pause, whatever key ids are made up.
    @Test func madeUpNamesDoNotCauseAFetchEach() {
        var cache = Cache()
        fetch(&cache, ["a"], at: 0)
        var fetches = 0
        for second in 1...3600 {
            for name in ["x", "y", "z"] where ask(&cache, for: "\(name)\(second)", at: second) == .fetch {
                fetches += 1
                fetch(&cache, nil, at: second)
            }
        }
        #expect(fetches == 5 + (3600 - 32) / 30 + 1)
    }

    @Test func goodKeysOutliveFailuresButNotForever() {
        var cache = Cache()
        fetch(&cache, ["a"], at: 0)
        #expect(ask(&cache, for: "a", at: 599) == .use)
        #expect(ask(&cache, for: "a", at: 600) == .useAndRefresh)
        fetch(&cache, nil, at: 600)
        #expect(ask(&cache, for: "a", at: 600) == .use)
        #expect(ask(&cache, for: "a", at: 601) == .useAndRefresh)
        fetch(&cache, nil, at: 601)
        #expect(ask(&cache, for: "a", at: 602) == .use)
        #expect(ask(&cache, for: "a", at: 603) == .useAndRefresh)
        #expect(ask(&cache, for: "a", at: 86_400) == .fetch)
        fetch(&cache, nil, at: 86_400)
        #expect(ask(&cache, for: "a", at: 86_400, hasFetched: true) == .unavailable)
    }

    @Test func aRemovedKeyIsGoneWithTheNextFetch() {
        var cache = Cache()
        fetch(&cache, ["a", "b"], at: 0)
        fetch(&cache, ["b"], at: 700)
        #expect(ask(&cache, for: "a", at: 701) == .fetch)
        fetch(&cache, ["b"], at: 701)
        #expect(ask(&cache, for: "a", at: 701, hasFetched: true) == .unknownKey)
    }
}
