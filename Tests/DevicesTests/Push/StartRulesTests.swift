import Foundation
import GatehouseServiceContracts
import Testing

@testable import DevicesService

@Suite struct StartRulesTests {
    private func push(_ caller: String, _ urgency: PushUrgency = .normal) -> DuePush {
        DuePush(id: UUID(), caller: caller, urgency: urgency, isSegment: false)
    }

    /// Each step chooses among those that are due then.
    @Test func urgentPushesStartFirstAndCallersTakeTurns() {
        var turns = StartTurns()
        let large = (0..<3).map { _ in push("news") }
        let chat = push("chat")
        let due = large + [chat]
        #expect((0..<4).map { _ in turns.next(among: due) } == [large[0], chat, large[0], chat])
        let urgent = push("orders", .urgent)
        #expect(turns.next(among: due + [urgent]) == urgent)
        #expect(turns.next(among: [push("news", .bulk)] + due) == large[0])
        #expect(turns.next(among: []) == nil)
    }

    @Test func lessUrgentPushesHaveSomeTurns() {
        var turns = StartTurns()
        let due = [push("orders", .urgent), push("news"), push("news", .bulk)]
        let steps = 8 * StartTurns.turnsOfHighestUrgency
        var counts: [PushUrgency: Int] = [:]
        for _ in 0..<steps { counts[turns.next(among: due)!.urgency, default: 0] += 1 }
        #expect(counts == [.urgent: steps - 8, .normal: 7, .bulk: 1])
        #expect((0..<steps).allSatisfy { _ in turns.next(among: [due[0]]) == due[0] })
    }

    @Test func aPushThatFailsWaitsAloneAndLonger() {
        var turns = StartTurns()
        let (broken, other) = (UUID(), UUID())
        let start = ContinuousClock.now
        var now = start
        var delays: [Duration] = []
        for _ in 0..<9 {
            turns.failed(broken, at: now)
            #expect(turns.postponed(at: now) == [broken])
            var end = now
            while turns.postponed(at: end) == [broken] { end += .seconds(1) }
            delays.append(end - now)
            now = end
        }
        #expect(delays.map { $0 / .seconds(1) } == [1, 2, 4, 8, 16, 32, 60, 60, 60])
        #expect(turns.devices(of: broken) == 4 && turns.devices(of: other) == StartRules.devicesAtOnce)
        turns.succeeded(broken)
        #expect(turns.devices(of: broken) == 9, "larger steps may fail again")
        turns.failed(broken, at: now)
        #expect(turns.postponed(at: now + .seconds(1)).isEmpty)
        for _ in 0..<20 { turns.succeeded(broken) }
        #expect(turns.devices(of: broken) == StartRules.devicesAtOnce)
    }

    @Test func aPushOfAnotherReplicaIsLeftToItForAMoment() {
        var turns = StartTurns()
        let (push, now) = (UUID(), ContinuousClock.now)
        turns.isBusy(push, at: now)
        #expect(turns.postponed(at: now) == [push] && turns.postponed(at: now + .seconds(1)).isEmpty)
        #expect(turns.devices(of: push) == StartRules.devicesAtOnce)
    }

    @Test func failuresAreForgottenWhenThereAreTooMany() {
        var turns = StartTurns()
        let now = ContinuousClock.now
        for _ in 0..<(StartTurns.maximumFailures + 50) { turns.failed(UUID(), at: now) }
        #expect(turns.postponed(at: now).count == StartTurns.maximumFailures)
    }

    @Test func aPushToFewDevicesIsAddedAtOnce() throws {
        func isAtOnce(_ targets: PushRequest.Targets, rate: Int? = nil) throws -> Bool {
            StartRules.isAddedAtOnce(try TestPushes.valid(targets) { $0.ratePerMinute = rate })
        }
        func ids(_ count: Int) -> [UUID] { (0..<count).map { _ in UUID() } }
        func devices(_ count: Int) -> [PushRequest.DeviceTarget] {
            (0..<count).map { _ in .init(user: UUID(), device: UUID()) }
        }
        #expect(try isAtOnce(.init(users: ids(100))) && isAtOnce(.init(users: ids(50), sessions: ids(50))))
        #expect(try !isAtOnce(.init(users: ids(101))) && !isAtOnce(.init(users: ids(51), sessions: ids(50))))
        #expect(try isAtOnce(.init(devices: devices(10))) && !isAtOnce(.init(devices: devices(11))))
        #expect(try !isAtOnce(.init(users: ids(1)), rate: 60))
        // A user who is named often is one.
        #expect(try isAtOnce(.init(users: [UUID](repeating: UUID(), count: 1000))))
    }
}
