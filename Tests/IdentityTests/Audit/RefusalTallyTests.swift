import Foundation
import Testing

@testable import IdentityService

@Suite struct RefusalTallyTests {
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
