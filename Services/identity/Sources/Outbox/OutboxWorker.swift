import AsyncHTTPClient
import Contracts
import Foundation
import Instruments
import Limits
import Logging
import NIOCore
import NIOHTTP1
import Postgres
import ServiceKitPostgres
import ServiceLifecycle
import Synchronization

/// Carries out the tasks of the outbox. Failed tasks are retried without limit.
final class OutboxWorker: Service, Sendable {
    private let store: OutboxStore
    private let deliver: @Sendable (OutboxEntry) async throws -> Void
    private let logger: Logger
    private let queues = OutboxDestination.allCases.map(Queue.init)
    private let failures = Counter(
        "identity_outbox_failed_total", help: "Attempts to carry out a task of the outbox that failed.")
    private let claimFailures = Counter(
        "identity_outbox_claim_failed_total", help: "Attempts to read the outbox that failed.")
    private let backlog = OutboxMetrics()
    /// Tasks that this process has postponed, which may be due before the outbox is read next.
    private let postponed = Signal()

    /// The queue of the tasks for one destination. The queues are independent of each other.
    private final class Queue: Sendable {
        let destination: OutboxDestination
        let wakeUps: AsyncStream<Void>
        let wakeUp: AsyncStream<Void>.Continuation
        private let places = Mutex(OutboxPlaces())

        init(_ destination: OutboxDestination) {
            self.destination = destination
            (wakeUps, wakeUp) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
        }

        var free: Int { places.withLock { $0.findFree() } }

        func take(_ count: Int, of limit: Int) {
            places.withLock { $0.take(count, of: limit) }
        }

        func release() {
            if places.withLock({ $0.release() }) { wakeUp.yield() }
        }
    }

    init(
        store: OutboxStore, logger: Logger, deliver: @escaping @Sendable (OutboxEntry) async throws -> Void
    ) {
        self.store = store
        self.deliver = deliver
        self.logger = logger
    }

    /// Reads the outbox now, because a task was enqueued.
    func wake() {
        for queue in queues { queue.wakeUp.yield() }
    }

    /// Reads the outbox for the destinations with due tasks. If PostgreSQL is unavailable, each queue finds that out.
    /// - Returns: how long until it has to be read again.
    private func wakeDue() async -> Duration {
        guard let waits = try? await store.waits() else {
            wake()
            return OutboxSchedule.retry
        }
        for queue in queues where waits[queue.destination] == .zero { queue.wakeUp.yield() }
        return OutboxSchedule.pause(before: waits.values.min())
    }

    /// Ends when the service shuts down and the tasks in progress are done. An authorization code is single-use:
    /// stopping during its exchange would lose the refresh token. Every task has a deadline of its own.
    func run() async throws {
        await withDiscardingTaskGroup { group in
            group.addTask {
                await cancelWhenGracefulShutdown {
                    while !Task.isCancelled {
                        let seen = self.postponed.count
                        let wait = await self.wakeDue()
                        await self.postponed.wait(after: seen, until: .now + wait)
                    }
                }
                for queue in self.queues { queue.wakeUp.finish() }
            }
            group.addTask {
                await cancelWhenGracefulShutdown {
                    while !Task.isCancelled {
                        // While PostgreSQL is unavailable, `identity_outbox_claim_failed_total` shows it.
                        if let backlog = try? await self.store.backlog() { self.backlog.record(backlog) }
                        try? await Task.sleep(for: OutboxMetrics.interval)
                    }
                }
            }
            for queue in self.queues {
                group.addTask { await self.deliverDue(from: queue) }
            }
        }
    }

    /// Within ``run()``: whether to claim no further task.
    private var isStopping: Bool {
        Task.isCancelled || Task.isShuttingDownGracefully
    }

    /// Carries out the queue's due tasks whenever it is woken up. A task that has ended makes room for the next one, so
    /// a slow task delays no other while a place is free.
    private func deliverDue(from queue: Queue) async {
        await withDiscardingTaskGroup { group in
            for await _ in queue.wakeUps {
                while !isStopping {
                    let free = queue.free
                    guard free > 0 else { break }
                    let claim = await claim(for: queue.destination, limit: free)
                    queue.take(claim.count, of: free)
                    for entry in claim.entries {
                        group.addTask {
                            await self.deliverOrPostpone(entry)
                            queue.release()
                        }
                    }
                    for entry in claim.unreadable {
                        group.addTask {
                            await self.postpone(entry)
                            queue.release()
                        }
                    }
                    if claim.count < free { break }
                }
            }
        }
    }

    /// - Returns: no tasks where the outbox cannot be read.
    private func claim(for destination: OutboxDestination, limit: Int) async -> OutboxClaim {
        do {
            return try await store.claim(for: destination, limit: limit)
        } catch {
            // Stopping the service cancels a claim in progress. That is not a failure.
            if !Task.isCancelled {
                claimFailures.increment()
                logger.warning(
                    "The outbox could not be read",
                    metadata: ["destination": "\(destination.rawValue)", "error": "\(error)"])
            }
            return OutboxClaim()
        }
    }

    private func deliverOrPostpone(_ entry: OutboxEntry) async {
        do {
            try await deliver(entry)
            // The deletion's next step is in another destination's queue.
            if case .deletion = entry.task { wake() }
        } catch {
            failures.increment()
            logger.warning(
                "An outbox task failed and will be tried again",
                metadata: [
                    "task": "\(entry.task.kind)", "id": "\(entry.id)", "attempts": "\(entry.attempts)",
                    "error": "\(error)",
                ])
            // If this fails, the task is due again when its claim expires.
            try? await store.postpone(entry, seconds: delay(after: entry.attempts))
            postponed.send()
        }
    }

    private func postpone(_ entry: UnreadableOutboxEntry) async {
        failures.increment()
        logger.error(
            "An outbox task cannot be read by this version and stays",
            metadata: [
                "task": "\(entry.kind)", "id": "\(entry.id)", "attempts": "\(entry.attempts)",
                "error": "\(entry.flaw)",
            ])
        try? await store.postpone(entry, seconds: delay(after: entry.attempts))
        postponed.send()
    }

    private func delay(after deliveries: Int) -> Double {
        OutboxSchedule.delay(after: deliveries, spread: .random(in: 0...1))
    }
}

/// Carries out the outbox's tasks. A task may be carried out twice; none is removed before it has been carried out.
struct OutboxDelivery: Sendable {
    let accounts: AccountStore
    let outbox: OutboxStore
    let tokens: TokensClient
    let devices: DevicesClient
    let appleGrants: AppleGrantDelivery
    let passwordResets: PasswordResetDelivery
    let messages: MessageDelivery
    let lossNotice: LossNotice

    /// Also called by requests whose change is committed. Their deadline does not apply: the calls have their own
    /// time-outs, and what was carried out has to be recorded.
    func deliver(_ entry: OutboxEntry) async throws {
        try await Deadline.with(nil) { try await perform(entry) }
    }

    private func perform(_ entry: OutboxEntry) async throws {
        switch entry.task {
        case .snapshot:
            if let userID = entry.userID, let account = try await accounts.account(userID) {
                try await tokens.put(account.snapshot)
            }
        case .revokeSessions(let reason, let except, let version):
            if let userID = entry.userID {
                try await tokens.revokeSessions(
                    of: userID,
                    RevokeSessionsRequest(exceptSession: except, belowCredentialsVersion: version, reason: reason))
            }
        case .endSession(let session):
            if let userID = entry.userID { try await tokens.endSession(session, of: userID) }
        case .revokeUnused(let session):
            try await tokens.revokeUnused(session: session)
        case .exchangeCode(let subject):
            try await appleGrants.exchange(entry, of: subject)
        case .message:
            try await messages.deliver(entry)
        case .passwordReset(_, let language, let isAskerKnown):
            try await passwordResets.deliver(entry, language: language, isAskerKnown: isAskerKnown ?? false)
        case .identifierLost(let channel, let language):
            try await lossNotice.deliver(entry, to: channel, language: language)
        case .deletion(let step):
            try await carryOut(step, of: entry)
            // The same task continues with its next step.
            if let next = step.next { return try await outbox.advance(entry, to: next) }
        }
        try await outbox.complete(entry)
    }

    /// Carries out the first step of a deletion, which the user waits for. The outbox carries out the others.
    func begin(deletion entry: OutboxEntry) async throws {
        guard case .deletion(.revokeSessions) = entry.task else { return }
        try await deliver(entry)
    }

    private func carryOut(_ step: DeletionStep, of entry: OutboxEntry) async throws {
        switch step {
        case .revokeSessions, .sweepSessions:
            if let userID = entry.userID {
                try await tokens.revokeSessions(of: userID, RevokeSessionsRequest(reason: .accountDeleted))
            }
        case .eraseDevices:
            if let userID = entry.userID {
                try await devices.erase(userID)
            }
        case .revokeAtApple:
            try await appleGrants.revoke(entry)
        }
    }
}

/// A team's own endpoint has refused a request.
struct HookRefused: Error {
    var status: Int
}

extension HTTPClient {
    /// Posts JSON to a team's own endpoint. Only the status of the response counts; its body is not read.
    ///
    /// - Parameters:
    ///   - name: the header field that authenticates the request as Gatehouse's.
    ///   - proof: the field's value.
    ///   - timeout: for the whole exchange.
    /// - Throws: ``HookRefused`` for any status but 2xx.
    func post(_ body: [UInt8], toHook url: URL, _ name: String, _ proof: String, timeout: TimeAmount) async throws {
        var request = HTTPClientRequest(url: url.absoluteString)
        request.method = .POST
        request.headers.add(name: "Content-Type", value: "application/json")
        request.headers.add(name: name, value: proof)
        request.body = .bytes(body)
        let response = try await execute(request, timeout: timeout)
        guard (200..<300).contains(response.status.code) else { throw HookRefused(status: Int(response.status.code)) }
    }
}

/// The waiting tasks of the outbox, by destination.
struct OutboxMetrics: Sendable {
    /// How often the tasks are counted.
    static let interval = Duration.seconds(10)

    private let gauges: [OutboxDestination: (count: Gauge, age: Gauge)]

    init() {
        gauges = Dictionary(
            uniqueKeysWithValues: OutboxDestination.allCases.map { destination in
                let labels = [("destination", destination.rawValue)]
                let count = Gauge(
                    "identity_outbox_tasks",
                    help: "Tasks in the outbox, counted up to \(OutboxStore.mostCounted) for each destination.",
                    labels: labels)
                let age = Gauge(
                    "identity_outbox_oldest_task_age_seconds",
                    help: "Age of the oldest of the tasks that are counted; 0 where there is none.", labels: labels)
                return (destination, (count, age))
            })
    }

    func record(_ backlog: [OutboxDestination: OutboxBacklog]) {
        for (destination, gauges) in gauges {
            gauges.count.set(backlog[destination]?.count ?? 0)
            gauges.age.set(backlog[destination]?.age ?? 0)
        }
    }
}
