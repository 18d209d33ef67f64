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

/// Sends pushes to segments, for as long as the service runs. Every replica does.
///
/// A replica claims a slice of a push, reads a page of its devices with their owners, sends it while it is fresh, and
/// records it before it reads the next one. So when a process dies, one page of each of its slices is in doubt.
struct BulkSender: Service {
    /// Devices of a page.
    static let pageSize = 500
    /// Slices that a replica holds at once: while one page is recorded and the next one read, another is sent.
    private static let workers = 2
    /// Pages of a slice before another push has its turn.
    private static let turn = 8
    private static let longestPause: Duration = .seconds(2)
    /// Seconds.
    private static let shortestWait = 0.1

    let delivery: PushDelivery
    let activity: PushActivity
    let slices: PushSliceStore
    private let turns = SharedTurns()

    private var queue: PushQueueStore { delivery.queue }
    private var limits: PushSender.Limits { delivery.limits }
    private var logger: Logger { delivery.logger }

    /// Sends until the service shuts down. Then the pages in flight end, and are recorded.
    func run() async {
        await withDiscardingTaskGroup { group in
            for _ in 0..<Self.workers { group.addTask { await work() } }
        }
    }

    /// Half as many streams as the push service has.
    private var streams: Int { max(1, min(limits.concurrency, delivery.pushService.maximumStreams) / 2 / Self.workers) }
    private var isEnding: Bool { Task.isShuttingDownGracefully || Task.isCancelled }
    /// Whether pages are sent now. Others are sent first, and nothing without the revocation feed.
    private var maySend: Bool {
        !isEnding && !activity.hasPriority && activity.isFeedFresh(within: limits.maximumStaleness)
    }

    private func work() async {
        let backoff = Backoff(base: limits.interval, maximum: Self.longestPause)
        await Periodic(every: limits.interval, backoff: backoff, wakeUps: activity.wakeups).run {
            let resumptions = activity.resumptions.count
            if maySend, let slice = turns.next(among: try await slices.due()) {
                activity.notePending()
                try await send(slice)
                return .now
            }
            if activity.hasPriority {
                await activity.resumptions.wait(after: resumptions, until: .now + limits.interval)
                return .now
            }
            return .after(activity.isPending ? limits.interval : limits.idleInterval)
        } onFailure: { error, _ in
            logger.warning("pushes to segments could not be read", error: error)
        }
    }

    // MARK: - Slices

    /// Sends pages of a slice until its turn ends.
    private func send(_ slice: PushSlice) async throws {
        guard let content = try await queue.contents(of: [slice.push])[slice.push]?.content else {
            // A newer version of the service has accepted it, and sends it.
            return try await Task.sleep(for: limits.interval)
        }
        var page = try await claiming(slice) { (id) throws(PostgresError) in
            try await slices.claim(slice, as: id, lease: limits.lease, most: Self.pageSize)
        }
        var count = 0
        while let current = page {
            activity.notePending()
            count += 1
            let progress = SliceProgress(await verifyAndSend(current, of: content))
            // As if the process had died.
            if Task.isCancelled { return }
            // Without progress it goes on a moment later.
            let delay = progress.obstacle.map { DeliveryRules.delay(after: $0) } ?? 0
            let wait = progress.devices == 0 ? max(delay, Self.shortestWait) : delay
            let goesOn = count < Self.turn && wait == 0 && maySend
            page = try await record(
                progress, of: current, wait: .seconds(wait), most: goesOn ? Self.pageSize : 0)
        }
    }

    /// Runs a statement that claims a page. If its answer is lost, the page is given back.
    private func claiming<Value: Sendable>(
        _ slice: PushSlice, _ body: (UUID) async throws(PostgresError) -> Value
    ) async throws(PostgresError) -> Value {
        let (id, claimedAt) = (UUID(), ContinuousClock.now)
        do {
            return try await body(id)
        } catch {
            if error.mayHaveClaimed {
                activity.window.lose(LostClaim(.slice(slice, id: id), lostUntil: claimedAt + limits.lease))
            }
            throw error
        }
    }

    /// Records a page, however long PostgreSQL is unavailable: it is in flight until then. A device whose outcome
    /// PostgreSQL refuses ends as rejected.
    private func record(
        _ progress: SliceProgress, of page: SlicePage, wait: Duration, most: Int
    ) async throws -> SlicePage? {
        var (progress, most) = (progress, most)
        var pause: Duration = .milliseconds(100)
        while true {
            do throws(PostgresError) {
                let (wasRecorded, next) = try await claiming(page.slice) { (id) throws(PostgresError) in
                    try await slices.advance(
                        page, by: progress, as: id, wait: wait, lease: limits.lease, most: most)
                }
                delivery.metrics.record(progress, wasRecorded: wasRecorded)
                return next
            } catch {
                if Task.isCancelled { throw error }
                if error.mayConcernRow, await replaceRefused(in: &progress, of: page) { continue }
                logger.warning("a page of a push to a segment could not be recorded", error: error)
                // The statement also reads the next page, which may be what takes too long.
                most = 0
                try? await Task.sleep(for: pause)
                pause = min(pause * 2, Self.longestPause)
            }
        }
    }

    /// Replaces the decisions that PostgreSQL refuses. One that is refused even so is left out: then only the log tells
    /// of it. Returns whether there are any.
    private func replaceRefused(in progress: inout SliceProgress, of page: SlicePage) async -> Bool {
        guard let refusals = try? await slices.refusals(of: progress, on: page) else { return false }
        // From the end, so that the places before stay valid.
        for (place, error) in refusals.sorted(by: { $0.key > $1.key }) {
            let outcome = progress.outcomes[place]
            let decision = delivery.unrecordable(page.claims[outcome.index], outcome.decision, error)
            let isFinal = outcome.decision.reason == DeliveryRules.notRecorded
            progress.replaceDecision(at: place, by: isFinal ? nil : decision)
        }
        return !refusals.isEmpty
    }

    // MARK: - Pages

    /// Sends a page to the devices whose tokens are their users', and whose sessions are live.
    private func verifyAndSend(_ page: SlicePage, of push: PushContent) async -> [DeviceResult] {
        var page = page
        do {
            page.claims = try await queue.checkingOwners(of: page.claims)
        } catch {
            logger.warning("owners of push tokens could not be read", error: error)
            return []
        }
        guard let (claims, expirations) = await delivery.checkingSessions(of: page.claims) else { return [] }
        page.claims = claims
        let results = await send(page, of: push)
        await delivery.keepLiveness(of: claims, expirations)
        return results
    }

    /// Sends the devices of a page in their order, as long as it is fresh and other pushes do not wait.
    private func send(_ page: SlicePage, of push: PushContent) async -> [DeviceResult] {
        let capped: Set<PushTarget>
        do {
            capped = try await self.capped(page, of: push)
        } catch {
            logger.warning("pushes with a cap could not be counted", error: error)
            return []
        }
        let sendBefore = delivery.sendBefore(claimedAt: page.readAt)
        var results = [DeviceResult](repeating: .notStarted, count: page.claims.count)
        await withTaskGroup(of: (index: Int, result: DeviceResult).self) { group in
            var next = 0
            var inFlight = 0
            while true {
                while inFlight < streams, next < results.count, maySend, .now < sendBefore {
                    let claim = page.claims[next]
                    switch delivery.prepare(claim, of: push, claimedAt: page.readAt) {
                    case .decided(let decision): results[next] = .decided(decision)
                    case .send where capped.contains(claim.target): results[next] = .decided(DeliveryRules.capped)
                    case .send(let rendered):
                        group.addTask { [next] in
                            (next, await send(rendered, claim, of: push, readAt: page.readAt))
                        }
                        inFlight += 1
                    }
                    next += 1
                }
                guard let ended = await group.next() else { return }
                results[ended.index] = ended.result
                inFlight -= 1
            }
        }
        return results
    }

    /// Those of a page whose users have received enough pushes today. A page that is read again counts the same push.
    private func capped(_ page: SlicePage, of push: PushContent) async throws -> Set<PushTarget> {
        guard push.capPerDay != nil else { return [] }
        let unsent = page.claims.filter { claim in
            if case .send = delivery.prepare(claim, of: push, claimedAt: page.readAt) { true } else { false }
        }
        return try await delivery.capped(unsent.map { ($0, push) })
    }

    private func send(
        _ rendered: RenderedPush, _ claim: ClaimedTarget, of push: PushContent, readAt: ContinuousClock.Instant
    ) async -> DeviceResult {
        let (outcome, decision) = await delivery.send(rendered, claim, of: push, claimedAt: readAt)
        if case .notSent(let reason) = outcome { return .notSent(reason, decision) }
        return .decided(decision)
    }
}

/// The turns of a replica's workers.
private final class SharedTurns: Sendable {
    private let turns = Mutex(BulkTurns())

    func next(among due: [PushSlice]) -> PushSlice? { turns.withLock { $0.next(among: due) } }
}
