import Contracts
import Foundation
import Instruments
import MetricsTestKit
import ServiceKit
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

    private var readAt: Double? {
        get throws { try told.expectMeter("read").lastValue.map { $0 - Self.start.timeIntervalSince1970 } }
    }

    /// In seconds.
    private var delays: [Double] { get throws { try told.expectTimer("delay").values.map { Double($0) / 1e9 } } }

    @Test func aReaderIsAsOldAsItsStartUntilItIsAtTheEnd() throws {
        var metrics = metrics()
        #expect(try readAt == 0)
        metrics.read(page(revokedAt: [], more: true), now: Self.start + 5)
        #expect(try readAt == 0)
        metrics.read(page(revokedAt: []), now: Self.start + 6)
        #expect(try readAt == 6)
        metrics.failed()
        #expect(try readAt == 6)
    }

    @Test func whatItReadsBeforeTheEndIsHistory() throws {
        var metrics = metrics()
        metrics.read(page(revokedAt: [-3600], more: true), now: Self.start + 1)
        metrics.read(page(revokedAt: [-60]), now: Self.start + 2)
        #expect(try delays == [])
        metrics.read(page(revokedAt: [2.5, 2.75]), now: Self.start + 3)
        #expect(try delays == [0.5, 0.25])
        // The database's clock is ahead.
        metrics.read(page(revokedAt: [9]), now: Self.start + 4)
        #expect(try delays == [0.5, 0.25, 0])
        // It starts over, and all of that is history too.
        metrics.read(page(revokedAt: [], reset: true, more: true), now: Self.start + 5)
        metrics.read(page(revokedAt: [-3600, 5.5]), now: Self.start + 6)
        #expect(try delays == [0.5, 0.25, 0])
        metrics.read(page(revokedAt: [6]), now: Self.start + 7)
        #expect(try delays == [0.5, 0.25, 0, 1])
    }

    @Test func theDatabasesOwnClockCountsWhereItIsTold() throws {
        var metrics = metrics()
        metrics.read(page(revokedAt: []), now: Self.start)
        var told = page(revokedAt: [0])
        told.entries[0].age = 0.125
        metrics.read(told, now: Self.start + 100)
        #expect(try delays == [0.125])
    }

    @Test func aLossEndsWithTheNextPage() throws {
        var metrics = metrics()
        let lost = try told.expectMeter("lost")
        metrics.read(page(revokedAt: []), now: Self.start + 1)
        #expect(lost.lastValue == 0)
        metrics.failed()
        #expect(lost.lastValue == 1)
        // What was revoked meanwhile was late.
        metrics.read(page(revokedAt: [1], more: true), now: Self.start + 31)
        #expect(lost.lastValue == 0)
        #expect(try delays == [30])
        #expect(try readAt == 1)
    }
}
