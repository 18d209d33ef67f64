import Foundation

@testable import TokensService

/// Owner and thief with a copy of one token, who take turns: each presents what it has, at most twice in a row, and
/// when the turn passes to the other the retry window has passed as well. Any answer may be lost.
struct TwoHolders: Hashable {
    private var row: RotationModel.Row
    private var held: [RotationModel.Token]
    private var last = 0
    private var inARow = 0
    /// Since the token was copied.
    private var rotations = 0
    private var isFound = false

    /// All sessions that a token can be copied from: the owner's last answer may have been lost, and late replays have
    /// been counted before.
    static func starts(limit: Int) -> [TwoHolders] {
        (0...limit).flatMap { lateReplays in
            [false, true].flatMap { lateReplayed in
                [RotationModel.Token(1), 2].map { held in
                    var row = RotationModel.Row(current: 2, previous: 1)
                    (row.lateReplays, row.lateReplayed) = (lateReplays, lateReplayed && lateReplays > 0)
                    return TwoHolders(row: row, held: [held, held])
                }
            }
        }
    }

    private init(row: RotationModel.Row, held: [RotationModel.Token]) {
        self.row = row
        self.held = held
    }

    /// Goes through all that can follow.
    ///
    /// - Returns: the most rotations until the two were found.
    static func explore(_ rules: FlawedRules) throws(RotationModel.Violation) -> Int {
        var seen: Set<TwoHolders> = []
        var open = starts(limit: rules.limit)
        var most = 0
        while let world = open.popLast() {
            guard seen.insert(world).inserted else { continue }
            if world.rotations > rules.limit + 2 { throw .unseen }
            if world.isFound {
                most = max(most, world.rotations)
                continue
            }
            for holder in 0...1 {
                let isSame = holder == world.last
                if isSame, world.inARow == 2 { continue }
                for pause in isSame ? [0, FlawedRules.retryWindow + 1] : [FlawedRules.retryWindow + 1] {
                    for isLost in [false, true] {
                        open.append(world.afterPresenting(holder, pause: pause, isLost: isLost, rules))
                    }
                }
            }
        }
        return most
    }

    private func afterPresenting(_ holder: Int, pause: Int, isLost: Bool, _ rules: FlawedRules) -> TwoHolders {
        var next = self
        next.inARow = holder == last ? inARow + 1 : 1
        next.last = holder
        // After that, more time makes no difference.
        next.row.sinceRotation = min(row.sinceRotation + pause, FlawedRules.retryWindow + 1)
        switch rules.decide(on: held[holder], age: 0, of: next.row.state) {
        case .rotate:
            next.rotations += 1
            next.row.write(rules.rotated(next.row.state))
        case .countLateReplay: next.row.write(next.row.state.countingLateReplay())
        case .repeatSuccessor: break
        case .revoke, .refuse: next.isFound = true
        case .tryLater: return next
        }
        if !isLost { next.held[holder] = next.row.current }
        return next
    }
}
