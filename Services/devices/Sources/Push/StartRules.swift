import Foundation
import GatehouseServiceContracts

/// A push whose time has come, and whose targets are not all there.
struct DuePush: Sendable, Equatable {
    var id: UUID
    var caller: String
    var urgency: PushUrgency
    var isSegment: Bool
}

/// The bounds of what a push adds to the queue at once.
enum StartRules {
    /// Devices that the recipients of a push can have whose targets come with it: those of a hundred users. Those of
    /// larger ones are added in steps.
    static let devicesWithPush = 5000
    /// Devices that a step may add.
    static let devicesAtOnce = 2500
    /// Targets that a push keeps of named devices that are not registered.
    static let unknownDevices = 10
    /// Seconds between the due times of two recipients of one push, so that a push to many does not stand before one
    /// that is accepted a moment later.
    static let interval = 0.0001

    /// The most devices that the recipients can have: what adding their targets may cost.
    static func possibleDevices(of recipients: [PushRecipient]) -> Int {
        recipients.reduce(0) { $0 + ($1.kind.hasManyDevices ? RegistrationStore.maximumDevices : 1) }
    }

    /// Whether the statement that keeps the push adds its targets, too.
    static func isAddedAtOnce(_ push: ValidPush) -> Bool {
        push.ratePerMinute == nil && possibleDevices(of: push.recipients) <= devicesWithPush
            && push.recipients.count { $0.kind == .device } <= unknownDevices
    }
}

extension PushRecipient.Kind {
    fileprivate var hasManyDevices: Bool { self == .user || self == .session }
}

/// The order in which a replica starts pushes: urgent before normal before bulk, and the callers in turn. A turn is one
/// step of one push. Some turns belong to less urgent pushes, so that many urgent ones delay these but do not stop
/// them. A push that fails waits alone, and its next step is smaller.
struct StartTurns: Sendable {
    private struct Turn: Hashable {
        var caller: String
        var urgency: PushUrgency
    }

    private struct Failure {
        /// Since the last success.
        var count: Int
        /// How often the size of its steps is halved.
        var halvings: Int
        var until: ContinuousClock.Instant
    }

    /// Every such turn belongs to the next lower urgency that waits, and after as many of these one to the lowest.
    static let turnsOfHighestUrgency = 8

    /// Failed pushes that are remembered. More are tried again early.
    static let maximumFailures = 1000
    static let shortestDelay: Duration = .seconds(1)
    static let longestDelay: Duration = .seconds(60)
    /// For how long a push is left to the replica that is at it.
    private static let busyDelay: Duration = .milliseconds(100)

    /// The number of each one's last turn.
    private var last: [Turn: Int] = [:]
    private var count = 0
    private var failures: [UUID: Failure] = [:]

    /// The push whose turn it is among those that are due, of each caller in their order.
    mutating func next(among due: [DuePush]) -> DuePush? {
        let urgencies = PushUrgency.allCases.filter { urgency in due.contains { $0.urgency == urgency } }
        guard !urgencies.isEmpty else { return nil }
        let (turns, rest) = (count + 1).quotientAndRemainder(dividingBy: Self.turnsOfHighestUrgency)
        let isOfLowest = turns.isMultiple(of: Self.turnsOfHighestUrgency)
        let urgency = urgencies[rest > 0 ? 0 : isOfLowest ? urgencies.count - 1 : min(1, urgencies.count - 1)]
        let candidates = due.filter { $0.urgency == urgency }
        guard let push = candidates.min(by: { turn($0) < turn($1) }) else { return nil }
        // Turns of callers without pushes are of no more use.
        let waiting = Set(due.map { Turn(caller: $0.caller, urgency: $0.urgency) })
        last = last.filter { waiting.contains($0.key) }
        count += 1
        last[Turn(caller: push.caller, urgency: urgency)] = count
        return push
    }

    private func turn(_ push: DuePush) -> Int { last[Turn(caller: push.caller, urgency: push.urgency)] ?? 0 }

    /// A step has succeeded. The next one is twice as large, up to the usual size.
    mutating func succeeded(_ push: UUID) {
        guard let failure = failures[push] else { return }
        failures[push] =
            failure.halvings > 1 ? Failure(count: 0, halvings: failure.halvings - 1, until: failure.until) : nil
    }

    /// Another replica is at the push.
    mutating func isBusy(_ push: UUID, at now: ContinuousClock.Instant) {
        let former = failures[push]
        postpone(push, Failure(count: former?.count ?? 0, halvings: former?.halvings ?? 0, until: now + Self.busyDelay))
    }

    mutating func failed(_ push: UUID, at now: ContinuousClock.Instant) {
        let number = (failures[push]?.count ?? 0) + 1
        let delay = min(Self.shortestDelay * (1 << min(number - 1, 10)), Self.longestDelay)
        postpone(push, Failure(count: number, halvings: (failures[push]?.halvings ?? 0) + 1, until: now + delay))
    }

    private mutating func postpone(_ push: UUID, _ failure: Failure) {
        if failures.count >= Self.maximumFailures, failures[push] == nil,
            let first = failures.min(by: { $0.value.until < $1.value.until })?.key
        {
            failures[first] = nil
        }
        failures[push] = failure
    }

    /// The pushes that wait after a failure.
    func postponed(at now: ContinuousClock.Instant) -> [UUID] { failures.filter { $0.value.until > now }.map(\.key) }

    /// Devices that the next step of a push may add: after each failure half as many.
    func devices(of push: UUID) -> Int {
        max(1, StartRules.devicesAtOnce >> min(failures[push]?.halvings ?? 0, 12))
    }
}
