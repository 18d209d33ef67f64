import Foundation
import Testing

@testable import TokensService

@Suite struct RotationExplorationTests {
    /// No order of steps, losses, deaths and jumps of the clock signs an honest device out: only more lost
    /// responses in a row than the limit allows do.
    @Test(arguments: [6, 61])
    func anHonestDeviceStaysSignedIn(jump: Int) throws {
        let rules = RotationRules(lateReplayLimit: 1)
        var seen: Set<RotationModel> = []
        var open = [RotationModel(rules: rules)]
        while let model = open.popLast() {
            guard seen.insert(model).inserted else { continue }
            if model.isRevoked {
                #expect(model.row.lateReplays >= rules.lateReplayLimit, "signed out before the limit")
                continue
            }
            open.append(contentsOf: try successors(of: model, jump: jump))
        }
        #expect(seen.count > 1_000)
    }

    private func successors(of model: RotationModel, jump: Int) throws -> [RotationModel] {
        var next: [RotationModel] = []
        func add(_ change: (inout RotationModel) throws -> Void) rethrows {
            var copy = model
            try change(&copy)
            next.append(copy)
        }
        if model.sent < 3, model.requests.count < 2, model.requests.allSatisfy(\.isAbandoned) { add { $0.send() } }
        if model.requests.contains(where: { !$0.isAbandoned }) { add { $0.abandon() } }
        if model.now < 2 * jump { add { $0.jump(jump) } }
        for index in model.requests.indices {
            add { $0.crash(index) }
            try add { try $0.advance(index) }
        }
        return next
    }

    /// Thief and victim with one token, each asking when its access token has run out: whoever comes second
    /// presents a predecessor late, or something older.
    @Test(arguments: [1, 3], [1, 2, 3])
    func twoHoldersAreFound(lateReplayLimit: Int, turn: Int) throws {
        let rules = RotationRules(lateReplayLimit: lateReplayLimit)
        var row = RotationModel.Row()
        var held = [(Int32(0), [UInt8(0)]), (Int32(0), [UInt8(0)])]
        var now = 0.0
        var rotations = 0
        for step in 0..<100 {
            now += 3000
            // One asks `turn` times for each time that the other asks.
            let holder = step % (turn + 1) == 0 ? 0 : 1
            let state = row.state()
            let presented = RotationRules.Presented(generation: held[holder].0, hash: held[holder].1, isGenuine: true)
            switch rules.decide(on: presented, of: state, at: Date(timeIntervalSince1970: now)) {
            case .rotate:
                rotations += 1
                let at = Date(timeIntervalSince1970: now)
                row = .init(state.rotated(to: [UInt8(rotations)], at: at, idleLifetime: 1))
                held[holder] = (row.generation, row.currentHash)
            case .repeatSuccessor: held[holder] = (row.generation, row.currentHash)
            case .countLateReplay:
                row = .init(state.countingLateReplay())
                held[holder] = (row.generation, row.currentHash)
            case .revoke:
                #expect(rotations <= lateReplayLimit + 2)
                return
            case .tryLater, .refuse: Issue.record("neither found nor served")
            }
        }
        Issue.record("never found")
    }
}
