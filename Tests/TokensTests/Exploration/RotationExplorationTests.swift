import Testing

@testable import TokensService

/// The rules of rotation in every order of events, with a late replay limit of 1. One at a time: they
/// only compute, and other tests wait for the same threads.
@Suite(.serialized) struct RotationExplorationTests {
    /// Six presentations, by one process that asks again or by two that share a token, in any replicas: every order of
    /// their steps, lost answers, deaths, lies about the race lock, and time or PostgreSQL's clock moving across every
    /// window between any two. No generation has two tokens; an app that goes on asking has a working token in the
    /// end, unless it lost more answers in a row than the limit allows; nothing outlives its expiry.
    @Test(arguments: [(1, 3), (2, 2)])
    func anHonestAppStaysSignedIn(processes: Int, clockEvents: Int) async throws {
        var exploration = RotationExploration(presentations: 6, processes: processes, clockEvents: clockEvents)
        try await exploration.run(FlawedRules(limit: 1))
        print("\(exploration.worlds.count) worlds of \(processes) processes and \(clockEvents) moves of the clock")
        #expect(exploration.worlds.count > 50_000)
    }

    /// Leaving out what makes no difference misses no state of row and app, with whatever tokens on their way.
    @Test(arguments: [(1, 2), (2, 1)])
    func theShortWayMissesNothing(processes: Int, clockEvents: Int) async throws {
        var (short, long) = (
            RotationExploration(presentations: 3, processes: processes, clockEvents: clockEvents),
            RotationExploration(presentations: 3, processes: processes, clockEvents: clockEvents, simplifies: false)
        )
        try await short.run(FlawedRules(limit: 1))
        try await long.run(FlawedRules(limit: 1))
        #expect(Set(long.worlds.keys.map(Outline.init)) == Set(short.worlds.keys.map(Outline.init)))
        #expect(long.worlds.count > 4 * short.worlds.count)
    }

    /// A world without its requests' steps and ages, and how many rotations ago their tokens were current.
    private struct Outline: Hashable {
        var world: RotationModel
        var underWay: Set<[Int32]> = []

        init(_ world: RotationModel) {
            self.world = world
            self.world.requests = []
            self.world.simplify()
            guard let row = world.row else { return }
            for request in world.requests where !(request.isAbandoned && request.isAnswered) {
                underWay.insert([min(row.current - request.token, 2), request.isAbandoned ? 1 : 0])
            }
        }
    }

    /// Thief and owner who take turns outside the retry window, from whatever session the token was copied.
    @Test(arguments: 0...4)
    func twoHoldersAreFound(lateReplayLimit: Int) throws {
        #expect(try TwoHolders.explore(FlawedRules(limit: lateReplayLimit)) == lateReplayLimit + 2)
    }

    /// Each rule, and each condition of a write, is needed: without it an invariant breaks.
    @Test(arguments: FlawedRules.Flaw.allCases)
    func everyFlawComesToLight(flaw: FlawedRules.Flaw) async {
        let rules = FlawedRules(limit: 1, flaw: flaw)
        await #expect(throws: flaw.breaks) {
            var exploration = RotationExploration(presentations: 4, clockEvents: 2)
            try await exploration.run(rules)
            _ = try TwoHolders.explore(rules)
        }
    }
}
