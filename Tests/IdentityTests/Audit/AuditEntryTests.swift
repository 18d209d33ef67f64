import Foundation
import Testing

@testable import IdentityCore

@Suite struct AuditEntryTests {
    // MARK: - Counts

    private static let now: Int64 = 1_000_000 * 3600 + 600

    @Test func hoursAreThoseOfTheClockAndNoneIsLeftOut() {
        let steps = [
            AuditCount(at: Self.now - 25 * 3600, signIns: 100), AuditCount(at: Self.now - 3600, signIns: 7),
            AuditCount(at: Self.now - 600, signIns: 1), AuditCount(at: Self.now - 300, signIns: 2, refusals: 3),
            // By a clock that is ahead.
            AuditCount(at: Self.now + 3600, signIns: 100),
        ]
        let hours = AuditCount.hours(of: steps, before: Self.now)
        #expect(hours.count == 24 && hours.first?.at == (1_000_000 - 23) * 3600)
        #expect(hours[23] == AuditCount(at: 1_000_000 * 3600, signIns: 3, refusals: 3))
        #expect(hours[22].signIns == 7 && hours[..<22].allSatisfy { $0.signIns == 0 })
    }

    @Test func aSumHasTheStepsThatBeganWithinTheTime() {
        let steps = [
            AuditCount(at: Self.now - 3600, signIns: 10), AuditCount(at: Self.now - 3599, signIns: 2),
            AuditCount(at: Self.now, registrations: 1),
        ]
        let sum = AuditCount.sum(of: steps, within: 3600, before: Self.now)
        #expect(sum == AuditCount(at: Self.now - 3600, signIns: 2, registrations: 1))
    }

    // MARK: - Origins

    @Test func whatTheClientSaysIsBounded() {
        let long = String(repeating: "e\u{301}", count: 5000)
        #expect(AuditOrigin(userAgent: long).userAgent?.unicodeScalars.count == AuditOrigin.maximumLength)
        #expect(AuditOrigin(device: "a\u{202E}b\u{0}c").device == "abc")
        #expect(AuditOrigin(address: "", userAgent: "\u{0}") == AuditOrigin())
    }

    @Test func theDigestDependsOnEachFieldAndOnTheSalt() {
        let origins = [
            AuditOrigin(), AuditOrigin(address: "a"), AuditOrigin(userAgent: "a"), AuditOrigin(device: "a"),
            AuditOrigin(appVersion: "a"), AuditOrigin(address: "a", userAgent: "a"),
        ]
        #expect(Set(origins.map { $0.digest(salt: [1]) }).count == origins.count)
        #expect(origins[1].digest(salt: [1]) != origins[1].digest(salt: [2]))
        #expect(origins[1].digest(salt: [1]) == origins[1].digest(salt: [1]))
    }

    // MARK: - Refusals

    private let start = ContinuousClock.now
    private let key = RefusalTally.Key(userID: UUID(), detail: "password")

    @Test func aWindowIsOneEntryWithTheLatestOrigin() {
        var tally = RefusalTally()
        for minute in 0..<3 {
            let isNoted = tally.note(
                key, from: AuditOrigin(address: "192.0.2.\(minute)"), at: start + .seconds(60 * minute))
            #expect(isNoted)
        }
        let early = tally.take(at: start + RefusalTally.window - .seconds(1))
        #expect(early == [:])
        let due = tally.take(at: start + RefusalTally.window)
        #expect(due[key]?.count == 3 && due[key]?.origin?.address == "192.0.2.2")
        #expect(tally.isEmpty)
    }

    @Test func reasonsAreCountedApart() {
        var tally = RefusalTally()
        for detail in ["password", "disabled"] {
            _ = tally.note(RefusalTally.Key(userID: key.userID, detail: detail), from: nil, at: start)
        }
        let taken = tally.take(at: start, all: true)
        #expect(taken.count == 2)
    }

    @Test func thereIsABoundAndWhoIsCountedStays() {
        var tally = RefusalTally()
        var noted = tally.note(key, from: nil, at: start) ? 1 : 0
        for _ in 0...RefusalTally.capacity {
            noted += tally.note(RefusalTally.Key(userID: UUID(), detail: ""), from: nil, at: start) ? 1 : 0
        }
        #expect(noted == RefusalTally.capacity)
        let isStillNoted = tally.note(key, from: nil, at: start)
        let taken = tally.take(at: start, all: true)
        #expect(isStillNoted && taken[key]?.count == 2)
    }

    @Test func whatCouldNotBeWrittenIsAddedToWhatCameSince() {
        var tally = RefusalTally()
        _ = tally.note(key, from: nil, at: start)
        let taken = tally.take(at: start, all: true)
        _ = tally.note(key, from: nil, at: start + .seconds(1))
        for (key, refusals) in taken { tally.putBack(refusals, for: key) }
        let again = tally.take(at: start + RefusalTally.window)
        #expect(again[key] == RefusalTally.Refusals(count: 2, since: start, origin: nil))
    }
}
