import GatehouseServiceContracts
import Synchronization

/// The targets that one replica may hold at once, and those that a request has claimed for the sender.
///
/// A request that is accepted while the replica has room claims its targets in the statement that keeps the push. So
/// they are sent without a look at the queue. The sender opens the window while it runs.
final class SendWindow: Sendable {
    /// Claims of one push. Nothing of them was sent.
    struct Handover: Sendable {
        let claims: [ClaimedTarget]
        let content: PushContent
        /// Before the statement that claimed them.
        let claimedAt: ContinuousClock.Instant
    }

    /// Room that a request has taken before it knows its targets.
    struct Reservation: Sendable {
        /// How many targets of each recipient may be claimed.
        let targetsOfRecipient: Int
        /// No other replica claims them for so long.
        let lease: Duration
        fileprivate let count: Int
    }

    private struct State {
        var isOpen = false
        var limit = 0
        var lease = Duration.zero
        var streams: @Sendable () -> Int = { 0 }
        var held = 0
        var reserved = 0
        /// Targets wait in the queue that were due before.
        var hasBacklog = false
        var handovers: [Handover] = []
        var lostClaims: [LostClaim] = []
        var (notices, notice) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    }

    /// Devices of a user that a request makes room for. Further ones are queued.
    private static let devicesOfUser = 4

    private let state = Mutex(State())

    // MARK: - Requests

    /// Takes room for the targets of some recipients; `nil` without any. Urgent pushes may use the part that others
    /// leave free, and do not wait behind a backlog.
    func reserve(recipients: Int, urgency: PushUrgency) -> Reservation? {
        state.withLock { state in
            guard state.isOpen, recipients > 0, urgency == .urgent || !state.hasBacklog else { return nil }
            let each = min(Self.devicesOfUser, Self.room(state, for: urgency) / recipients)
            guard each > 0 else { return nil }
            state.reserved += each * recipients
            return Reservation(targetsOfRecipient: each, lease: state.lease, count: each * recipients)
        }
    }

    /// Ends a reservation. The sender sends what was claimed; `nil` if nothing was.
    func end(_ reservation: Reservation, _ handover: Handover?) {
        state.withLock { state in
            state.reserved -= reservation.count
            state.notice.yield()
            guard let handover, !handover.claims.isEmpty else { return }
            state.held += handover.claims.count
            state.handovers.append(handover)
        }
    }

    // MARK: - Lost claims

    /// Keeps a claim that the sender is to give back.
    ///
    /// - Parameter pause: before that.
    func lose(_ claim: LostClaim, pause: Duration = .zero) {
        var claim = claim
        claim.dueAt = .now + pause
        state.withLock { [claim] in $0.lostClaims.append(claim) }
    }

    /// Removes a lost claim that is due.
    func takeLostClaim() -> LostClaim? {
        state.withLock { state in
            guard let index = state.lostClaims.firstIndex(where: { $0.dueAt <= .now }) else { return nil }
            return state.lostClaims.remove(at: index)
        }
    }

    // MARK: - The sender

    /// - Parameters:
    ///   - limit: the most targets that may be held.
    ///   - streams: how many pushes the push service can have in flight now.
    func open(limit: Int, lease: Duration, streams: @escaping @Sendable () -> Int) {
        state.withLock { state in
            (state.isOpen, state.limit, state.lease, state.streams) = (true, limit, lease, streams)
            (state.held, state.handovers) = (0, [])
            // The former one ended with the sender that was cancelled.
            (state.notices, state.notice) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
        }
    }

    /// Takes no more reservations.
    func close() {
        state.withLock { state in
            state.isOpen = false
            state.notice.yield()
        }
    }

    /// Targets from the queue that may be claimed now.
    var room: Int { state.withLock { Self.room($0, for: .normal) } }

    func hold(_ count: Int) {
        state.withLock { $0.held += count }
    }

    /// The outcomes of so many targets are recorded.
    func release(_ count: Int) {
        state.withLock { $0.held -= count }
    }

    func noteBacklog(_ hasBacklog: Bool) {
        state.withLock { $0.hasBacklog = hasBacklog }
    }

    /// The next claims of requests; `nil` when the window is closed and no reservation is left, or the task is
    /// cancelled.
    func next() async -> [Handover]? {
        while true {
            let (handovers, isDone, notices) = state.withLock { state in
                defer { state.handovers = [] }
                return (state.handovers, !state.isOpen && state.reserved == 0, state.notices)
            }
            if !handovers.isEmpty { return handovers }
            if isDone { return nil }
            var iterator = notices.makeAsyncIterator()
            guard await iterator.next() != nil else { return nil }
        }
    }

    /// A tenth is left to urgent pushes. What the push service cannot send at once is not claimed: it would be in
    /// doubt if the process died.
    private static func room(_ state: State, for urgency: PushUrgency) -> Int {
        let all = min(state.limit, state.streams())
        return max(0, (urgency == .urgent ? all : all - all / 10) - state.held - state.reserved)
    }
}
