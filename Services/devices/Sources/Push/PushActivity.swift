import Foundation
import ServiceKitPostgres
import Synchronization

/// The state that the parts of one replica share: whether pushes wait, and how old the knowledge of ended sessions
/// is.
final class PushActivity: Sendable {
    private struct State {
        /// Until when pushes count as pending.
        var pendingUntil = ContinuousClock.now
        var feedReadAt: ContinuousClock.Instant?
        var survey = PushQueueStore.Survey()
        /// Targets that this replica has accepted since the survey.
        var added: [String: Int] = [:]
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
    ///
    /// - Parameter targets: of a push whose time has not come: 1.
    func accepted(_ targets: Int, of caller: String) {
        state.withLock { $0.added[caller, default: 0] += targets }
        wake()
    }

    /// The targets of a caller that wait, as far as this replica knows.
    func queueLength(of caller: String) -> Int {
        state.withLock { $0.survey.length(of: caller) + ($0.added[caller] ?? 0) }
    }

    func surveyed(_ survey: PushQueueStore.Survey) {
        state.withLock { state in
            state.survey = survey
            state.added = [:]
        }
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
