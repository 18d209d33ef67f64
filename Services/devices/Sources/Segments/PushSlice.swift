// Pure: no I/O, no clock.

import Foundation
import GatehouseServiceContracts

/// A slice of a push to a segment: a range of buckets, whose devices one replica at a time sends to, page by page.
struct PushSlice: Sendable, Hashable {
    var caller: String
    var push: UUID
    var number: Int16
}

/// The next devices of a slice that this replica holds.
struct SlicePage: Sendable, Equatable {
    var slice: PushSlice
    /// Differs for each page. Only the latest one's holder moves the slice's cursor.
    var epoch: Int64
    /// Before the page and its owners were read.
    var readAt: ContinuousClock.Instant
    var claims: [ClaimedTarget]
}

/// The result for one device of a page.
enum DeviceResult: Sendable, Equatable {
    case decided(DeliveryDecision)
    /// - Parameter decision: the one if a later device of the page was sent to.
    case notSent(NotSentReason, DeliveryDecision)
    /// Sending the page ended before.
    case notStarted
}

/// The consequences of a page's sending for its slice.
struct SliceProgress: Sendable, Equatable {
    /// The devices from the start of the page that are done. The slice's cursor moves past them.
    var devices: Int
    /// Those among them that accepted the push.
    var accepted = 0
    /// The decisions that are kept: all but plain acceptance, and those that change a registration.
    var outcomes: [Outcome] = []
    /// Why most of what was started was not sent; then the slice waits.
    var obstacle: NotSentReason?

    struct Outcome: Sendable, Equatable {
        /// Among the claims of the page.
        var index: Int
        var decision: DeliveryDecision
    }

    /// Replaces the decision of one of the outcomes, or leaves the outcome out.
    mutating func replaceDecision(at place: Int, by decision: DeliveryDecision?) {
        if outcomes[place].decision.state == .accepted { accepted -= 1 }
        guard let decision else {
            outcomes.remove(at: place)
            return
        }
        if decision.state == .accepted { accepted += 1 }
        outcomes[place].decision = decision
    }

    /// Rows of `push_targets` that it adds.
    var targets: Int { outcomes.count { $0.decision.state != .accepted } }

    /// The cursor moves up to the last device that was sent to or decided on. A device before it that was not sent to
    /// waits as a target of its own; the devices after it are read again.
    init(_ results: [DeviceResult]) {
        devices = 1 + (results.lastIndex { if case .decided = $0 { true } else { false } } ?? -1)
        for (index, result) in results.prefix(devices).enumerated() {
            switch result {
            case .decided(let decision):
                if decision.state == .accepted { accepted += 1 }
                if decision.state != .accepted || decision.registration != .none {
                    outcomes.append(Outcome(index: index, decision: decision))
                }
            case .notSent(_, let decision): outcomes.append(Outcome(index: index, decision: decision))
            // They are started in order.
            case .notStarted: break
            }
        }
        let reasons = results.compactMap { if case .notSent(let reason, _) = $0 { reason } else { nil } }
        let started = results.count { $0 != .notStarted }
        if reasons.count * 2 > started { obstacle = reasons.last }
    }
}

/// The order of slices: callers take turns, and so do the pushes of each caller.
struct BulkTurns: Sendable {
    private struct Turn: Hashable {
        var caller: String
        var push: UUID?
    }

    /// The number of each one's last turn.
    private var last: [Turn: Int] = [:]
    private var count = 0

    /// The slice among those that are due whose caller, and whose push, had its last turn longest ago.
    mutating func next(among due: [PushSlice]) -> PushSlice? {
        let callers = Set(due.map(\.caller))
        guard let caller = callers.min(by: { turn($0, nil) < turn($1, nil) }) else { return nil }
        let slices = due.filter { $0.caller == caller }
        guard let push = slices.min(by: { turn(caller, $0.push) < turn(caller, $1.push) })?.push else { return nil }
        // Turns of pushes that have ended are of no more use.
        let pushes = Set(due.map(\.push))
        last = last.filter { turn, _ in turn.push.map(pushes.contains) ?? callers.contains(turn.caller) }
        count += 1
        last[Turn(caller: caller, push: nil)] = count
        last[Turn(caller: caller, push: push)] = count
        // Any of them: other replicas claim, too.
        return slices.filter { $0.push == push }.randomElement()
    }

    private func turn(_ caller: String, _ push: UUID?) -> Int { last[Turn(caller: caller, push: push)] ?? 0 }
}
