import Testing

@testable import IdentityService

@Suite struct AppleKeyCacheTests {
    private typealias Cache = AppleKeyCache<Set<String>>
    private let start = ContinuousClock.now

    private func at(_ seconds: Int) -> ContinuousClock.Instant { start + .seconds(seconds) }

    private func ask(_ cache: inout Cache, for kid: String, at seconds: Int, hasFetched: Bool = false) -> Cache.Decision
    {
        cache.decide(now: at(seconds), hasFetched: hasFetched) { $0.contains(kid) }
    }

    private func fetch(_ cache: inout Cache, _ keys: Set<String>?, at seconds: Int) {
        cache.attempted(now: at(seconds))
        if let keys { cache.fetched(keys, now: at(seconds)) } else { cache.failed() }
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

    @Test func anUnknownNameIsWorthOneFetchInThirtySeconds() {
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

    @Test func whileTheLastFetchFailedAnUnknownNameIsNobodysFault() {
        var cache = Cache()
        fetch(&cache, ["a"], at: 0)
        #expect(ask(&cache, for: "b", at: 1) == .fetch)
        fetch(&cache, nil, at: 1)
        #expect(ask(&cache, for: "b", at: 1, hasFetched: true) == .unavailable)
        #expect(ask(&cache, for: "b", at: 20) == .unavailable)
        #expect(ask(&cache, for: "a", at: 20) == .use)
        #expect(ask(&cache, for: "b", at: 31) == .fetch)
    }

    @Test func goodKeysOutliveFailuresButNotForever() {
        var cache = Cache()
        fetch(&cache, ["a"], at: 0)
        #expect(ask(&cache, for: "a", at: 599) == .use)
        #expect(ask(&cache, for: "a", at: 600) == .useAndRefresh)
        fetch(&cache, nil, at: 600)
        #expect(ask(&cache, for: "a", at: 601) == .use)
        #expect(ask(&cache, for: "a", at: 630) == .useAndRefresh)
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
