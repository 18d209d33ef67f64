import Foundation
import GatehouseInstruments
import GatehouseLimits
import GatehouseServiceContracts
import GatehouseServiceKit
import Logging
import Postgres
import ServiceKitPostgres
import ServiceLifecycle
import Synchronization

/// Sends the pushes that are due, for as long as the service runs. Every replica does.
///
/// A target is claimed right before it is sent, and never more of them than may be in flight. So when a process dies,
/// at most those in flight are in doubt. Another replica claims them when their lease has ended.
struct PushSender: Service {
    /// The bounds and times of a sender.
    struct Limits: Sendable {
        /// Targets in flight.
        var concurrency = 1000
        /// The time between two reads of the queue while pushes are pending.
        var interval: Duration = .milliseconds(500)
        /// The same after ``PushActivity/calm`` without any.
        var idleInterval: Duration = .seconds(5)
        /// The least time between two surveys of the queue.
        var surveyInterval: Duration = .seconds(10)
        /// Targets that a survey counts of each caller and urgency, and pushes of each caller that wait.
        var surveyLimit = 100_000
        /// No other replica claims a target for so long. The push service answers sooner.
        var lease: Duration = .seconds(30)
        /// No stream is opened in the last part of a lease.
        var leaseMargin: Duration = .seconds(1)
        /// How long the sessions' and owners' state of a claim counts.
        var freshness: Duration = .milliseconds(500)
        /// Pushes of all apps with a cap that a user receives in a day; `nil` for any number.
        var capPerDay: Int?
        /// Without the revocation feed for so long, nothing is sent.
        var maximumStaleness: Duration = .seconds(60)
    }

    /// Targets of one claim.
    private static let batch = 250
    /// Targets that are read at once of each caller and urgency.
    private static let pageSize = 500
    private static let longestPause: Duration = .seconds(2)
    /// How many times as long as a survey takes PostgreSQL rests from it, so that a long queue is counted more seldom.
    private static let surveyRest = 20
    /// For how long PostgreSQL may be away after a lease, until what a lost claim holds counts as in doubt.
    private static let longestOutage: Duration = .seconds(600)

    let delivery: PushDelivery
    let activity: PushActivity
    let starter: PushStarter
    private let outcomes = OutcomeBuffer()

    private var queue: PushQueueStore { delivery.queue }
    private var limits: Limits { delivery.limits }
    private var metrics: PushMetrics { delivery.metrics }
    private var logger: Logger { delivery.logger }

    /// Sends until the service shuts down. Then what is in flight ends, and its outcomes are recorded.
    func run() async {
        activity.window.open(
            limit: limits.concurrency, lease: limits.lease,
            streams: { [pushService = delivery.pushService] in pushService.maximumStreams })
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await recordOutcomes() }
            await withTaskGroup(of: Void.self) { senders in
                senders.addTask { await startDue() }
                senders.addTask { await surveyQueue() }
                senders.addTask { await withDiscardingTaskGroup { await sendAccepted(in: &$0) } }
                await withDiscardingTaskGroup { await send(in: &$0) }
                activity.window.close()
            }
            if !Task.isCancelled { try? await releaseLostClaims() }
            outcomes.close()
            await group.waitForAll()
        }
    }

    // MARK: - Sending

    /// The targets that were read as due, in the order in which they are sent.
    private struct DueTargets {
        var queue = FairQueue()
        var end = ContinuousClock.now
    }

    /// Adds the targets of pushes whose time has come, and of large ones.
    private func startDue() async {
        await Periodic(every: limits.interval, wakeUps: activity.starts).run {
            do {
                while !isEnding {
                    let step = try await starter.step()
                    if step == .nothingDue { break }
                    if step == .added { activity.wake() }
                }
            } catch let error as PushStarter.StepFailure {
                // The next step is another push's.
                logger.warning(
                    "a push could not be started", error: error.cause,
                    metadata: ["push_id": "\(error.push.uuidString.lowercased())"])
                return .now
            } catch {
                logger.warning("pushes that are due could not be read", error: error)
            }
            return .after(activity.isPending ? limits.interval : limits.idleInterval)
        }
    }

    private var isEnding: Bool { Task.isShuttingDownGracefully || Task.isCancelled }

    /// Counts the queue, in a task of its own: pushes are sent however long it takes, and also if it fails.
    private func surveyQueue() async {
        await Periodic(every: limits.surveyInterval).run {
            let start = ContinuousClock.now
            do {
                let survey = try await activity.survey { former in
                    try await queue.survey(limit: limits.surveyLimit, former: former) {
                        logger.warning("a part of the queue could not be counted", error: $0)
                    }
                }
                metrics.record(survey)
            } catch {
                if Task.isCancelled { return .never }
                logger.warning("the queue could not be counted", error: error)
            }
            return .after(max(limits.surveyInterval, (.now - start) * Self.surveyRest))
        }
    }

    private func send(in group: inout DiscardingTaskGroup) async {
        var due = DueTargets()
        let backoff = Backoff(base: limits.interval, maximum: Self.longestPause)
        await Periodic(every: limits.interval, backoff: backoff, wakeUps: activity.wakeups).run {
            let freed = outcomes.recorded.count
            try await releaseLostClaims()
            let isPaused = !activity.isFeedFresh(within: limits.maximumStaleness)
            metrics.isPaused.set(isPaused ? 1 : 0)
            let free = activity.window.room
            // A target that Apple has accepted might be claimed again before that is recorded.
            if !isPaused, free > 0, !outcomes.isBlocked {
                if due.queue.isEmpty || due.end <= .now { try await readDueTargets(into: &due) }
                let targets = due.queue.take(min(free, Self.batch))
                activity.setPriority(due.queue.hasPriority)
                if !targets.isEmpty {
                    try await send(targets, in: &group)
                    return .now
                }
            }
            guard free > 0 else {
                await outcomes.recorded.wait(after: freed, until: .now + limits.interval)
                return .now
            }
            return .after(activity.isPending ? limits.interval : limits.idleInterval)
        } onFailure: { error, _ in
            activity.setPriority(false)
            logger.warning("pushes could not be read", error: error)
        }
    }

    private func readDueTargets(into due: inout DueTargets) async throws {
        due.end = .now + limits.freshness
        due.queue = try await queue.due(limit: Self.pageSize)
        activity.window.noteBacklog(!due.queue.isEmpty)
        if !due.queue.isEmpty { activity.notePending() }
    }

    /// Claims targets, and begins to send them.
    private func send(_ targets: [PushTarget], in group: inout DiscardingTaskGroup) async throws {
        // Before the statement: so the lease that PostgreSQL keeps ends later.
        let claimedAt = ContinuousClock.now
        let id = UUID()
        let claims: [ClaimedTarget]
        do {
            claims = try await queue.claim(targets, as: id, lease: limits.lease)
        } catch {
            if error.mayHaveClaimed {
                activity.window.lose(LostClaim(.targets(targets, id: id), lostUntil: claimedAt + limits.lease))
            }
            throw error
        }
        guard !claims.isEmpty else { return }
        activity.window.hold(claims.count)
        let owned: [ClaimedTarget]
        let contents: [UUID: (content: PushContent, isCancelled: Bool)]
        do {
            owned = try await queue.checkingOwners(of: claims)
            contents = try await queue.contents(of: Set(claims.map(\.target.push)))
        } catch {
            // Nothing was sent.
            for claim in claims { putBack(claim, reason: "unreadable", for: 1) }
            throw error
        }
        var pushes: [ClaimedPush] = []
        for claim in owned {
            guard let push = contents[claim.target.push] else {
                putBack(claim, reason: "unreadable", for: 60)
                continue
            }
            pushes.append(
                ClaimedPush(
                    claim: claim, content: push.content, isCancelled: push.isCancelled, claimedAt: claimedAt))
        }
        begin(pushes, in: &group)
    }

    /// Gives back what claims without an answer hold. Before targets are read, because a lease that ended meanwhile
    /// would put its target in doubt. A claim that cannot be given back for another reason than availability, such as a
    /// locked row, holds up no other push, and is dropped when its lease ends. PostgreSQL may be away for longer than a
    /// lease: until another replica has claimed it, the target is still this claim's.
    ///
    /// - Throws: an error while PostgreSQL is unavailable.
    private func releaseLostClaims() async throws {
        while let claim = activity.window.takeLostClaim() {
            do {
                let count = try await queue.release(claim.extent)
                if count > 0 {
                    logger.notice(
                        "claims without an answer of PostgreSQL were given back", metadata: ["count": "\(count)"])
                    activity.wake()
                } else if .now < claim.lostUntil {
                    activity.window.lose(claim, pause: limits.interval)
                }
            } catch {
                let lasts = error.code == .server ? claim.lostUntil : claim.lostUntil + Self.longestOutage
                if .now < lasts { activity.window.lose(claim, pause: limits.interval) }
                guard error.code == .server else { throw error }
                logger.warning("claims without an answer of PostgreSQL could not be given back", error: error)
            }
        }
    }

    /// Sends what requests have claimed, until the window is closed.
    private func sendAccepted(in group: inout DiscardingTaskGroup) async {
        while let handovers = await activity.window.next() {
            activity.notePending()
            let claims = handovers.flatMap(\.claims)
            guard activity.isFeedFresh(within: limits.maximumStaleness) else {
                for claim in claims { putBack(claim, reason: "paused", for: 1) }
                continue
            }
            do {
                var owned = try await queue.checkingOwners(of: claims)[...]
                for handover in handovers {
                    let own = owned.prefix(handover.claims.count)
                    owned = owned.dropFirst(own.count)
                    begin(
                        own.map {
                            ClaimedPush(
                                claim: $0, content: handover.content, isCancelled: false, claimedAt: handover.claimedAt)
                        }, in: &group)
                }
            } catch {
                logger.warning("owners of push tokens could not be read", error: error)
                for claim in claims { putBack(claim, reason: "unreadable", for: 1) }
            }
        }
    }

    /// A claim with what is to be sent.
    private struct ClaimedPush {
        var claim: ClaimedTarget
        let content: PushContent
        let isCancelled: Bool
        let claimedAt: ContinuousClock.Instant
    }

    /// Those whose sessions may have ended wait for tokens' answer.
    private func begin(_ pushes: [ClaimedPush], in group: inout DiscardingTaskGroup) {
        let unchecked = pushes.filter { delivery.rules.mustCheckSession(of: $0.claim) }
        sendChecked(pushes.filter { !delivery.rules.mustCheckSession(of: $0.claim) }, in: &group)
        if !unchecked.isEmpty { group.addTask { await checkSessions(of: unchecked) } }
    }

    private func checkSessions(of pushes: [ClaimedPush]) async {
        guard let (claims, expirations) = await delivery.checkingSessions(of: pushes.map(\.claim)) else {
            for push in pushes { putBack(push.claim, reason: "sessionUnknown", for: 1) }
            return
        }
        await withDiscardingTaskGroup { group in
            let checked = zip(pushes, claims).map { push, claim in
                var push = push
                push.claim = claim
                return push
            }
            sendChecked(checked, in: &group)
            await delivery.keepLiveness(of: claims, expirations)
        }
    }

    /// Those with a cap wait until they are counted.
    private func sendChecked(_ pushes: [ClaimedPush], in group: inout DiscardingTaskGroup) {
        var uncounted: [(push: ClaimedPush, rendered: RenderedPush)] = []
        for push in pushes {
            switch delivery.prepare(
                push.claim, of: push.content, isCancelled: push.isCancelled, claimedAt: push.claimedAt)
            {
            case .decided(let decision): outcomes.add(ClaimOutcome(claim: push.claim, decision: decision))
            case .send(let rendered) where push.content.capPerDay != nil: uncounted.append((push, rendered))
            case .send(let rendered): group.addTask { await send(rendered, for: push) }
            }
        }
        if !uncounted.isEmpty { group.addTask { [uncounted] in await count(uncounted) } }
    }

    private func count(_ pushes: [(push: ClaimedPush, rendered: RenderedPush)]) async {
        let capped: Set<PushTarget>
        do {
            capped = try await delivery.capped(pushes.map { ($0.push.claim, $0.push.content) })
        } catch {
            logger.warning("pushes with a cap could not be counted", error: error)
            for (push, _) in pushes { putBack(push.claim, reason: "unreadable", for: 1) }
            return
        }
        await withDiscardingTaskGroup { group in
            for (push, rendered) in pushes {
                if capped.contains(push.claim.target) {
                    outcomes.add(ClaimOutcome(claim: push.claim, decision: DeliveryRules.capped))
                } else {
                    group.addTask { await send(rendered, for: push) }
                }
            }
        }
    }

    private func send(_ rendered: RenderedPush, for push: ClaimedPush) async {
        let decision = await delivery.send(rendered, push.claim, of: push.content, claimedAt: push.claimedAt).decision
        outcomes.add(ClaimOutcome(claim: push.claim, decision: decision))
    }

    private func putBack(_ claim: ClaimedTarget, reason: String, for seconds: TimeInterval) {
        let decision = DeliveryDecision(state: .queued, reason: reason, dueAt: claim.claimedAt + seconds)
        outcomes.add(ClaimOutcome(claim: claim, decision: decision))
    }

    // MARK: - Outcomes

    /// Records outcomes in batches until the buffer is closed and empty. While PostgreSQL is unavailable they stay in
    /// the buffer, and count as in flight. One that PostgreSQL refuses ends as rejected.
    private func recordOutcomes() async {
        var pause: Duration = .milliseconds(100)
        while let batch = await outcomes.next() {
            let left = await writeSplitting(
                batch, write: { (part) throws(PostgresError) in try await record(part) },
                refused: { (outcome, error) throws(PostgresError) in
                    let decision = delivery.unrecordable(outcome.claim, outcome.decision, error)
                    do throws(PostgresError) {
                        try await record([ClaimOutcome(claim: outcome.claim, decision: decision)])
                    } catch {
                        guard error.mayConcernRow else { throw error }
                        // Its lease ends, as that of a replica that has died.
                        activity.window.release(1)
                    }
                })
            guard let left else {
                outcomes.unblock()
                pause = .milliseconds(100)
                continue
            }
            outcomes.putBack(left.rest)
            if Task.isCancelled { return }
            logger.warning("outcomes of pushes could not be recorded", error: left.failure)
            try? await Task.sleep(for: pause)
            pause = min(pause * 2, Self.longestPause)
        }
    }

    private func record(_ batch: [ClaimOutcome]) async throws(PostgresError) {
        // A replica that has lost the lease does so too, because Apple's answer about a channel stays true.
        try await PushChannelStore(database: queue.database).apply(batch)
        let recorded = try await queue.record(batch)
        activity.window.release(batch.count)
        outcomes.recorded.send()
        for (outcome, wasRecorded) in zip(batch, recorded) { metrics.record(outcome, wasRecorded: wasRecorded) }
        // Some may be due again at once.
        if batch.contains(where: { $0.decision.dueAt != nil }) { activity.notePending() }
    }
}

/// The outcomes of a sender that are not recorded yet.
private final class OutcomeBuffer: Sendable {
    private struct State {
        var outcomes: [ClaimOutcome] = []
        var isClosed = false
        var isBlocked = false
    }

    /// Outcomes of one statement.
    private static let batch = 500

    /// Counts recorded batches.
    let recorded = Signal()
    private let state = Mutex(State())
    /// Wakes the only reader. Not a ``Signal``, which ends at the shutdown: outcomes come after it.
    private let (notices, notice) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))

    func add(_ outcome: ClaimOutcome) {
        state.withLock { $0.outcomes.append(outcome) }
        notice.yield()
    }

    /// Outcomes that could not be recorded.
    func putBack(_ outcomes: [ClaimOutcome]) {
        state.withLock { state in
            state.outcomes = outcomes + state.outcomes
            state.isBlocked = true
        }
    }

    /// Whether the last attempt to record outcomes has failed.
    var isBlocked: Bool { state.withLock { $0.isBlocked } }

    func unblock() {
        state.withLock { $0.isBlocked = false }
    }

    /// No more outcomes are added.
    func close() {
        state.withLock { $0.isClosed = true }
        notice.yield()
    }

    /// The next outcomes; `nil` when the buffer is closed and empty, or the task is cancelled.
    func next() async -> [ClaimOutcome]? {
        while true {
            let (batch, isClosed) = state.withLock { state in
                let batch = Array(state.outcomes.prefix(Self.batch))
                state.outcomes.removeFirst(batch.count)
                return (batch, state.isClosed)
            }
            if !batch.isEmpty { return batch }
            if isClosed { return nil }
            var iterator = notices.makeAsyncIterator()
            guard await iterator.next() != nil else { return nil }
        }
    }
}
