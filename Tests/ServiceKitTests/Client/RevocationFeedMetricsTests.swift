import Foundation
import GatehouseInstruments
import GatehouseServiceContracts
import GatehouseServiceKit
import MetricsTestKit
import Testing

@Suite struct RevocationFeedMetricsTests {
    private static let start = Date(timeIntervalSince1970: 1_800_000_000)
    private let told = TestMetrics()

    private func metrics() -> RevocationFeedMetrics {
        RevocationFeedMetrics(
            isLost: Gauge("lost", help: "", factory: told), readAt: Gauge("read", help: "", factory: told),
            delay: DurationHistogram("delay", help: "", factory: told), now: Self.start)
    }

    /// - Parameter ages: of the revocations, in seconds after the start.
    private func page(revokedAt seconds: [Double], reset: Bool = false, more: Bool = false) -> RevocationPage {
        RevocationPage(
            entries: seconds.map {
                .init(
                    sessionID: UUID(), userID: UUID(), revokedAt: Self.start + $0, accessExpiresAt: Self.start + 3600,
                    reason: .logout)
            }, cursor: "1", reset: reset, more: more)
    }

    private func read(_ page: RevocationPage, into metrics: inout RevocationFeedMetrics, at now: Date) {
        guard case .read(let ages, let reset, let more) = RevocationFeedFollower.Progress.read(page, now: now) else {
            return
        }
        metrics.read(ages: ages, reset: reset, more: more, now: now)
    }

    private var readAt: Double? {
        get throws { try told.expectMeter("read").lastValue.map { $0 - Self.start.timeIntervalSince1970 } }
    }

    /// In seconds.
    private var delays: [Double] { get throws { try told.expectTimer("delay").values.map { Double($0) / 1e9 } } }

    @Test func aReaderIsAsOldAsItsStartUntilItIsAtTheEnd() throws {
        var metrics = metrics()
        #expect(try readAt == 0)
        read(page(revokedAt: [], more: true), into: &metrics, at: Self.start + 5)
        #expect(try readAt == 0)
        read(page(revokedAt: []), into: &metrics, at: Self.start + 6)
        #expect(try readAt == 6)
        metrics.failed()
        #expect(try readAt == 6)
    }

    @Test("An age that no duration can hold: it is recorded as a month")
    func ages() throws {
        var metrics = metrics()
        metrics.read(ages: [], reset: false, more: false)
        metrics.read(ages: [1e300, .infinity, -1e300], reset: false, more: false)
        #expect(try delays == [2_592_000, 2_592_000, 0])
    }

    @Test func whatItReadsBeforeTheEndIsHistory() throws {
        var metrics = metrics()
        read(page(revokedAt: [-3600], more: true), into: &metrics, at: Self.start + 1)
        read(page(revokedAt: [-60]), into: &metrics, at: Self.start + 2)
        #expect(try delays == [])
        read(page(revokedAt: [2.5, 2.75]), into: &metrics, at: Self.start + 3)
        #expect(try delays == [0.5, 0.25])
        // The database's clock is ahead.
        read(page(revokedAt: [9]), into: &metrics, at: Self.start + 4)
        #expect(try delays == [0.5, 0.25, 0])
        // It starts over, and all of that is history too.
        read(page(revokedAt: [], reset: true, more: true), into: &metrics, at: Self.start + 5)
        read(page(revokedAt: [-3600, 5.5]), into: &metrics, at: Self.start + 6)
        #expect(try delays == [0.5, 0.25, 0])
        read(page(revokedAt: [6]), into: &metrics, at: Self.start + 7)
        #expect(try delays == [0.5, 0.25, 0, 1])
    }

    @Test func theDatabasesOwnClockCountsWhereItIsTold() throws {
        var metrics = metrics()
        read(page(revokedAt: []), into: &metrics, at: Self.start)
        var told = page(revokedAt: [0])
        told.entries[0].age = 0.125
        read(told, into: &metrics, at: Self.start + 100)
        #expect(try delays == [0.125])
    }

    @Test func aLossEndsWithTheNextPage() throws {
        var metrics = metrics()
        let lost = try told.expectMeter("lost")
        read(page(revokedAt: []), into: &metrics, at: Self.start + 1)
        #expect(lost.lastValue == 0)
        metrics.failed()
        #expect(lost.lastValue == 1)
        // What was revoked meanwhile was late.
        read(page(revokedAt: [1], more: true), into: &metrics, at: Self.start + 31)
        #expect(lost.lastValue == 0)
        #expect(try delays == [30])
        #expect(try readAt == 1)
    }
}
