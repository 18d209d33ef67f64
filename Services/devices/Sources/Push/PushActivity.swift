import Foundation
import GatehouseServiceKit
import ServiceKitPostgres
import Synchronization

/// What pushes of a caller take up in the queue.
struct QueueLoad: Sendable, Equatable {
    /// Devices that wait; of a push without its targets the recipients.
    var devices = 0
    /// Of the payloads and recipients of pushes without their targets.
    var bytes = 0

    static func + (first: Self, second: Self) -> Self {
        Self(devices: first.devices + second.devices, bytes: first.bytes + second.bytes)
    }

    static func - (first: Self, second: Self) -> Self {
        Self(devices: first.devices - second.devices, bytes: first.bytes - second.bytes)
    }
}

/// The state that the parts of one replica share: whether pushes wait, and how old the knowledge of ended sessions
/// is.
final class PushActivity: Sendable {
    private struct State {
        /// Until when pushes count as pending.
        var pendingUntil = ContinuousClock.now
        var feedReadAt: ContinuousClock.Instant?
        var survey = PushQueueStore.Survey()
        /// What this replica has accepted since the survey began.
        var added: [String: QueueLoad] = [:]
        var hasPriority = false
    }

    /// How long after the last push the queue counts as busy.
    static let calm: Duration = .seconds(10)

    /// Counts the reasons to look at the queue.
    let wakeups = Signal()
    /// Counts when pushes were pending again after a calm.
    let starts = Signal()
    let window = SendWindow()
    /// Counts when bulk pushes may go on.
    let resumptions = Signal()
    private let state = Mutex(State())

    // MARK: - Pending pushes

    /// Whether pushes are due, or were within ``calm``.
    var isPending: Bool { state.withLock { .now < $0.pendingUntil } }

    func notePending() {
        let wasPending = state.withLock { state in
            defer { state.pendingUntil = .now + Self.calm }
            return .now < state.pendingUntil
        }
        if !wasPending { starts.send() }
    }

    /// Pushes have become due.
    func wake() {
        notePending()
        wakeups.send()
    }

    /// This replica has accepted a push. It is sent without a wait for the next look.
    func accepted(_ load: QueueLoad, of caller: String) {
        state.withLock { $0.added[caller, default: QueueLoad()] = ($0.added[caller] ?? QueueLoad()) + load }
        wake()
    }

    /// This replica has accepted a push that is due, and whose targets are not there.
    func acceptedUnstarted() { starts.send() }

    /// What waits of a caller, as far as this replica knows.
    func queueLoad(of caller: String) -> QueueLoad {
        state.withLock { $0.survey.load(of: caller) + ($0.added[caller] ?? QueueLoad()) }
    }

    /// Replaces the survey. What was accepted while it ran counts until the next one, because it may not have seen it; so
    /// does what a caller has added since its last count, where a count of the caller failed.
    func survey(
        by read: (_ former: PushQueueStore.Survey) async throws -> PushQueueStore.Survey
    ) async throws -> PushQueueStore.Survey {
        let (former, before) = state.withLock { ($0.survey, $0.added) }
        let survey = try await read(former)
        state.withLock { state in
            state.survey = survey
            for (caller, load) in before where !survey.uncounted.contains(caller) {
                let rest = (state.added[caller] ?? QueueLoad()) - load
                state.added[caller] = rest == QueueLoad() ? nil : rest
            }
        }
        return survey
    }

    // MARK: - Bulk pushes

    /// Whether urgent and normal targets wait, to which bulk pushes yield.
    var hasPriority: Bool { state.withLock { $0.hasPriority } }

    func setPriority(_ hasPriority: Bool) {
        let wasPriority = state.withLock { exchange(&$0.hasPriority, with: hasPriority) }
        if wasPriority, !hasPriority { resumptions.send() }
    }

    // MARK: - The revocation feed

    /// The feed was read to its end, and each session that has ended since is detached.
    func feedWasRead() {
        let wasUnread = state.withLock { state in
            defer { state.feedReadAt = .now }
            return state.feedReadAt == nil
        }
        if wasUnread { wakeups.send() }
    }

    /// Whether the feed was read within `maximumStaleness`. Before the first time nothing is sent.
    func isFeedFresh(within maximumStaleness: Duration) -> Bool {
        state.withLock { state in state.feedReadAt.map { .now - $0 <= maximumStaleness } ?? false }
    }
}
