import Foundation
import GatehouseAccessTokens
import GatehouseInstruments
import GatehouseLimits
import GatehouseServiceContracts
import GatehouseServiceKit
import GatehouseTokenValidation
import MetricsTestKit
import Synchronization
import TestKit
import Testing

@Suite("Keys and revocations that others tell")
struct KeyAndFeedTests {
    private struct Outage: Error {}

    private let live = Gauge("live", help: "")

    private var metrics: RevocationFeedMetrics { metrics(of: TestMetrics()) }

    private func metrics(of factory: TestMetrics) -> RevocationFeedMetrics {
        RevocationFeedMetrics(
            isLost: Gauge("lost", help: "", factory: factory), readAt: Gauge("read", help: "", factory: factory),
            delay: DurationHistogram("delay", help: "", factory: factory))
    }

    private var now: Int64 { Int64(Date.now.timeIntervalSince1970) }

    private func running(_ service: @escaping @Sendable () async throws -> Void, _ body: () async throws -> Void)
        async throws
    {
        let task = Task { try await service() }
        defer { task.cancel() }
        try await body()
    }

    @Test("Keys are fetched until they are there, stay through an outage, and follow a demand")
    func keys() async throws {
        let store = IssuerKeys(issuers: [TestIssuer(issuer: "i")])
        let first = try RSAPrivateKey.generate()
        let second = try RSAPrivateKey.generate()
        let published = Mutex<VerificationKeySet?>(nil)
        let fetches = Mutex(0)
        var fetcher = KeyFetcher(store: store, maximumStaleness: 100, logger: .quiet, interval: .seconds(300)) {
            fetches.withLock { $0 += 1 }
            guard let keys = published.withLock({ $0 }) else { throw Outage() }
            return keys
        }
        fetcher.backoff.base = .milliseconds(5)
        let service = fetcher
        try await running({ try await service.run() }) {
            try await eventually("a failed fetch is repeated") { fetches.withLock { $0 } >= 2 }
            #expect(!store.isUsable(now: now))
            published.withLock { $0 = try! VerificationKeySet(keys: [first.publicKey]) }
            try await eventually("there are keys") { store.isUsable(now: now) }
            #expect(store.snapshot.sources[0].generation == 1)
            #expect(!store.isUsable(now: now + 200))

            published.withLock { $0 = nil }
            #expect(store.demandFetch(after: store.version, now: 1000) == .isFetching)
            try await eventually("a demanded fetch fails") { store.snapshot.sources[0].didLastFetchFail }
            #expect(store.isUsable(now: now) && store.snapshot.sources[0].generation == 1)
            // Not again within the interval.
            let soon = 1000 + IssuerKeys<TestIssuer>.demandInterval - 1
            #expect(store.demandFetch(after: store.version, now: soon) == .isTooEarly)

            published.withLock { $0 = try! VerificationKeySet(keys: [first.publicKey, second.publicKey]) }
            let later = 1000 + IssuerKeys<TestIssuer>.demandInterval
            #expect(store.demandFetch(after: store.version, now: later) == .isFetching)
            try await eventually("a demanded fetch brings the new keys") {
                store.snapshot.sources[0].generation == 2
            }
            #expect(!store.snapshot.sources[0].didLastFetchFail)
        }
    }

    @Test("Keys are fetched anew before they are too old", arguments: [15, 16, 60, 299, 300, 900, 86_400])
    func interval(staleness: Int64) {
        let interval = KeyFetcher<TestIssuer>.interval(ofStaleness: staleness)
        // Twice in their time at least, and a fetch takes 5 s at most.
        #expect(interval * 2 + .seconds(5) <= .seconds(staleness))
        #expect(interval >= .seconds(5) && interval <= .seconds(300))
    }

    @Test("Keys that are the same as before concern only the callers that wait for them")
    func sameKeys() throws {
        let store = IssuerKeys(issuers: ["a", "b"].map { TestIssuer(issuer: $0) })
        let (first, second) = (try RSAPrivateKey.generate().publicKey, try RSAPrivateKey.generate().publicKey)
        let changes = Mutex(0)
        store.onChange { changes.withLock { $0 += 1 } }
        func changed(_ expected: Int, generations: [Int]) {
            #expect(changes.withLock { $0 } == expected)
            #expect(store.snapshot.sources.map(\.generation) == generations)
        }
        try store.replace(VerificationKeySet(keys: [first]), trustedUntil: 10)
        changed(1, generations: [1, 0])
        // For longer, but the same.
        try store.replace(VerificationKeySet(keys: [first]), trustedUntil: 20)
        changed(1, generations: [1, 0])
        #expect(store.version == 2 && store.isUsable(now: 20))
        store.fetchFailed()
        changed(1, generations: [1, 0])
        // Another issuer's keys end nothing of the first's.
        try store.replace(VerificationKeySet(keys: [second]), of: 1)
        changed(2, generations: [1, 1])

        #expect(store.demandFetch(of: [0, 1], after: store.version, now: 1000) == .isFetching)
        try store.replace(VerificationKeySet(keys: [first]))
        changed(3, generations: [1, 1])
        store.fetchFailed(of: 1)
        changed(4, generations: [1, 1])
        // What has come since the caller looked may be what it misses.
        let before = store.version
        try store.replace(VerificationKeySet(keys: [first]))
        #expect(store.demandFetch(after: before, now: 1000) == .hasChanged)
        // A fetch that was under way already is waited for as well.
        #expect(store.beginFetch() && store.demandFetch(after: store.version, now: 1001) == .isFetching)
        try store.replace(VerificationKeySet(keys: [first]))
        changed(5, generations: [1, 1])
        try store.replace(VerificationKeySet(keys: [first, second]))
        changed(6, generations: [2, 1])
    }

    @Test("The feed is read to its end before any user is judged, followed, and read on after a loss")
    func feed() async throws {
        let sessions = RevokedSessions(maximumStaleness: 100)
        let ids = (0..<4).map { _ in UUID() }
        let calls = Mutex<[String]>([])
        let expiry = Date.now.addingTimeInterval(600)
        @Sendable func entry(_ number: Int) -> AccessRevocationPage.Entry {
            .init(sessionID: ids[number], accessExpiresAt: Int64(expiry.timeIntervalSince1970), age: 0)
        }
        let (gate, open) = AsyncStream<Void>.makeStream()
        let feed = RevocationFeedReader(sessions: sessions, metrics: metrics, live: live, logger: .quiet) {
            cursor, wait in
            calls.withLock { $0.append("\(cursor ?? "-") \(wait)") }
            switch calls.withLock({ $0.count }) {
            case 1: return AccessRevocationPage(entries: [entry(0)], cursor: "1", reset: false, more: true)
            case 2:
                for await _ in gate { break }
                return AccessRevocationPage(entries: [entry(1)], cursor: "2", reset: false, more: false)
            case 3: throw Outage()
            case 4: return AccessRevocationPage(entries: [entry(2)], cursor: "4", reset: true, more: false)
            case 5: return AccessRevocationPage(entries: [entry(3)], cursor: "5", reset: false, more: false)
            default:
                try await Task.sleep(for: .seconds(60))
                throw Outage()
            }
        }
        try await running({ try await feed.run() }) {
            try await eventually("the first page is read") { sessions.count == 1 }
            #expect(sessions.status(of: ids[0], now: now) == .unknown)
            open.yield()
            try await eventually("the feed is followed after a loss") { calls.withLock { $0.count } == 6 }
            for id in ids { #expect(sessions.status(of: id, now: now) == .revoked) }
            #expect(calls.withLock { $0 } == ["- 0", "1 0", "2 5", "2 0", "4 5", "5 5"])
        }
    }

    @Test("A lost feed is known to be lost")
    func loss() async throws {
        let sessions = RevokedSessions(maximumStaleness: 0)
        let told = TestMetrics()
        let metrics = metrics(of: told)
        let isDown = Mutex(false)
        let feed = RevocationFeedReader(sessions: sessions, metrics: metrics, live: live, logger: .quiet) { _, wait in
            if isDown.withLock({ $0 }) { throw Outage() }
            try await Task.sleep(for: .milliseconds(1))
            return AccessRevocationPage(entries: [], cursor: "1", reset: false, more: false)
        }
        try await running({ try await feed.run() }) {
            try await eventually("the feed is read") { sessions.isUsable(now: now) }
            // The feed is alive, however late it is.
            #expect(sessions.isUsable(now: now + 1000))
            isDown.withLock { $0 = true }
            try await eventually("the loss is noticed") { !sessions.isUsable(now: now + 1000) }
            #expect(try told.expectMeter("lost").lastValue == 1)
            isDown.withLock { $0 = false }
            let before = Date.now.timeIntervalSince1970
            try await eventually("the feed is back") { try told.expectMeter("lost").lastValue == 0 }
            #expect(sessions.isUsable(now: now + 1000))
            try await eventually("it is at the end") {
                try (told.expectMeter("read").lastValue ?? 0) >= before
            }
        }
    }

    @Test("When the fetch that a token demanded fails, the next one is not minutes away")
    func failedDemand() async throws {
        let store = IssuerKeys(issuers: [TestIssuer(issuer: "i")])
        let key = try RSAPrivateKey.generate()
        let fetches = Mutex(0)
        var fetcher = KeyFetcher(store: store, maximumStaleness: 100, logger: .quiet, interval: .seconds(300)) {
            let number = fetches.withLock { fetches in
                fetches += 1
                return fetches
            }
            guard number > 1 else { throw Outage() }
            return try VerificationKeySet(keys: [key.publicKey])
        }
        fetcher.backoff.base = .milliseconds(5)
        let service = fetcher
        // Demanded before the first fetch of its own.
        #expect(store.demandFetch(after: store.version, now: now) == .isFetching)
        try await running({ try await service.run() }) {
            try await eventually("the fetch is repeated") { store.isUsable(now: now) }
        }
    }
}
