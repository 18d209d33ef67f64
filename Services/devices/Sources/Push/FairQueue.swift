import Foundation
import GatehouseServiceContracts

/// Targets that are due, in the order in which they are sent: urgent before normal before bulk; the callers in turn,
/// and of each caller its pushes in turn.
///
/// Each target costs the same, so this is deficit round-robin with a quantum of one target: a caller or a push with
/// many targets does not delay the others.
struct FairQueue: Sendable {
    /// Of one push, in the order in which they were added.
    private struct Targets {
        let push: UUID
        var rest: ArraySlice<PushTarget>
    }

    /// The caller's pushes; the first has its turn.
    private struct Caller {
        let name: String
        var pushes: [Targets] = []
    }

    private var callers: [PushUrgency: [Caller]] = [:]
    private(set) var count = 0

    init() {}

    var isEmpty: Bool { count == 0 }
    /// Whether targets wait that are sent before bulk ones.
    var hasPriority: Bool { callers[.urgent] != nil || callers[.normal] != nil }

    mutating func add(_ target: PushTarget, of caller: String, urgency: PushUrgency) {
        // Taken out of the dictionary, so that nothing is copied.
        var queue = callers.removeValue(forKey: urgency) ?? []
        let index = queue.firstIndex { $0.name == caller } ?? queue.endIndex
        if index == queue.endIndex { queue.append(Caller(name: caller)) }
        // The targets of one push mostly follow each other.
        if let push = queue[index].pushes.lastIndex(where: { $0.push == target.push }) {
            queue[index].pushes[push].rest.append(target)
        } else {
            queue[index].pushes.append(Targets(push: target.push, rest: [target]))
        }
        callers[urgency] = queue
        count += 1
    }

    /// Removes the next targets, at most `limit`.
    mutating func take(_ limit: Int) -> [PushTarget] {
        var taken: [PushTarget] = []
        while taken.count < limit, let target = next() { taken.append(target) }
        return taken
    }

    private mutating func next() -> PushTarget? {
        for urgency in PushUrgency.allCases {
            guard var queue = callers.removeValue(forKey: urgency) else { continue }
            // The party whose turn it was goes to the end, unless it has nothing left.
            var caller = queue.removeFirst()
            var push = caller.pushes.removeFirst()
            let target = push.rest.removeFirst()
            if !push.rest.isEmpty { caller.pushes.append(push) }
            if !caller.pushes.isEmpty { queue.append(caller) }
            if !queue.isEmpty { callers[urgency] = queue }
            count -= 1
            return target
        }
        return nil
    }
}
