import Foundation
import Testing

@testable import TokensService

/// Every row of the table of refresh token rotation, each window at its edges.
@Suite struct RotationRulesTests {
    let rules = RotationRules()
    let rotatedAt = Date(timeIntervalSince1970: 1_000_000)

    /// Generation 10, rotated at `rotatedAt`, 100 days before its end.
    var session: RotationState {
        RotationState(
            generation: 10, currentHash: [10], previousHash: [9], rotatedAt: rotatedAt, lateReplays: 0,
            lateReplayed: false, expiresAt: rotatedAt + 8_640_000, absoluteExpiresAt: rotatedAt + 9_000_000)
    }

    func decide(
        _ generation: Int32, hash: UInt8? = nil, genuine: Bool = true, age: TimeInterval = 0,
        after seconds: TimeInterval = 1, rules: RotationRules? = nil, _ change: (inout RotationState) -> Void = { _ in }
    ) -> RotationDecision {
        var session = session
        change(&session)
        let presented = RotationRules.Presented(
            generation: generation, hash: [hash ?? UInt8(generation)], isGenuine: genuine, age: age)
        return (rules ?? self.rules).decide(on: presented, of: session, at: rotatedAt + seconds)
    }

    @Test func theCurrentTokenRotates() {
        for seconds in [0, 5, 60, 61, 8_639_999.0] { #expect(decide(10, after: seconds) == .rotate) }
        #expect(decide(10, genuine: false) == .rotate, "its hash speaks for it")
        #expect(decide(10, after: -30) == .rotate, "a clock that was set back")
    }

    @Test func theFirstTokenHasNoPredecessor() {
        #expect(decide(0) { ($0.generation, $0.currentHash, $0.previousHash) = (0, [0], nil) } == .rotate)
        #expect(
            decide(-1, hash: 9) { ($0.generation, $0.currentHash, $0.previousHash) = (0, [0], nil) } == .refuse(.forked)
        )
    }

    @Test func thePredecessorWithinTheRetryWindowIsAnsweredAgain() {
        for seconds in [-30, 0, 4.9, 5, 59.999, 60] { #expect(decide(9, after: seconds) == .repeatSuccessor) }
        #expect(decide(9, genuine: false, after: 60) == .repeatSuccessor)
        #expect(decide(9, after: 60) { $0.lateReplays = 3 } == .repeatSuccessor, "early replays do not count")
    }

    @Test func thePredecessorLaterCountsOncePerGeneration() {
        #expect(decide(9, after: 60.001) == .countLateReplay)
        #expect(decide(9, after: 8_000_000) == .countLateReplay)
        #expect(decide(9, after: 61) { $0.lateReplays = 2 } == .countLateReplay)
        #expect(decide(9, after: 61) { $0.lateReplays = 3 } == .revoke(.lateReplay))
        for lateReplays in 1...3 {
            let again = decide(9, after: 61) { ($0.lateReplays, $0.lateReplayed) = (lateReplays, true) }
            #expect(again == .repeatSuccessor)
        }
    }

    @Test func noLateReplayIsForgivenInStrictMode() {
        let strict = RotationRules(mode: .strict)
        #expect(decide(9, after: 60, rules: strict) == .repeatSuccessor)
        #expect(decide(9, after: 60.001, rules: strict) == .revoke(.lateReplay))
        #expect(
            decide(9, after: 61, rules: strict) { ($0.lateReplays, $0.lateReplayed) = (1, true) }
                == .revoke(.lateReplay))
        #expect(decide(9, after: 61, rules: RotationRules(lateReplayLimit: 0)) == .revoke(.lateReplay))
    }

    @Test func anOlderTokenIsTheft() {
        for generation: Int32 in [0, 7, 8] {
            #expect(decide(generation, after: -30) == .tryLater)
            #expect(decide(generation, after: 0) == .tryLater)
            #expect(decide(generation, after: 4.999) == .tryLater)
            #expect(decide(generation, after: 5) == .revoke(.olderToken))
            #expect(decide(generation, after: 8_000_000) == .revoke(.olderToken))
        }
        #expect(decide(8, after: 0, rules: RotationRules(raceWindow: 0)) == .revoke(.olderToken))
    }

    @Test func anOlderTokenUnderAnUnknownKeyProvesNothing() {
        #expect(decide(8, genuine: false, after: 4) == .tryLater)
        #expect(decide(8, genuine: false, after: 5) == .refuse(.unproven))
    }

    @Test("A request waited before it was read: its token's age is that at its arrival")
    func ageAtArrival() {
        #expect(decide(8, age: 3600, after: 3604) == .tryLater)
        #expect(decide(8, age: 3600, after: 3605) == .revoke(.olderToken))
        #expect(decide(9, age: 3600, after: 3660) == .repeatSuccessor)
        #expect(decide(9, age: 3600, after: 3661) == .countLateReplay)
        #expect(decide(10, age: 3600, after: 8_640_000) == .refuse(.expired), "expiry looks at the clock alone")
    }

    @Test func aRestoredDatabaseAdoptsNothingAndAccusesNobody() {
        for seconds in [0, 100, 1_000_000.0] {
            #expect(decide(11, after: seconds) == .refuse(.forked))
            #expect(decide(.max, hash: 1, after: seconds) == .refuse(.forked))
            #expect(decide(10, hash: 77, after: seconds) == .refuse(.forked))
            #expect(decide(9, hash: 77, after: seconds) == .refuse(.forked))
        }
    }

    @Test func expiredSessionsAreRefused() {
        for generation: Int32 in [3, 9, 10, 11] {
            #expect(decide(generation, after: 8_640_000) == .refuse(.expired))
            #expect(decide(generation, after: 9_999_999) == .refuse(.expired))
        }
    }
}
