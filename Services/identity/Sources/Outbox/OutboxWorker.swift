import Contracts
import Foundation
import Logging
import Metrics
import Postgres
import ServiceLifecycle

/// Works off the outbox: whatever could not be told at once is told later, for as long as it takes.
final class OutboxWorker: Service, Sendable {
    private let store: OutboxStore
    private let housekeeping: Housekeeping
    private let deliver: @Sendable (OutboxEntry) async throws -> Void
    private let logger: Logger
    private let wakeUps: AsyncStream<Void>
    private let wakeUp: AsyncStream<Void>.Continuation
    private let failures = Counter(label: "identity_outbox_failed_total")
    private let claimFailures = Counter(label: "identity_outbox_claim_failed_total")

    private static let batch = 16
    /// How often the outbox is looked at when nobody rings: for what was postponed, and for what a process that died
    /// had claimed.
    private static let interval = Duration.seconds(1)

    init(
        store: OutboxStore, housekeeping: Housekeeping, logger: Logger,
        deliver: @escaping @Sendable (OutboxEntry) async throws -> Void
    ) {
        self.store = store
        self.housekeeping = housekeeping
        self.deliver = deliver
        self.logger = logger
        (wakeUps, wakeUp) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// There is something in the outbox.
    func ring() {
        wakeUp.yield()
    }

    func run() async throws {
        await cancelWhenGracefulShutdown {
            await withTaskGroup { group in
                group.addTask {
                    while !Task.isCancelled {
                        self.ring()
                        try? await Task.sleep(for: Self.interval)
                    }
                }
                group.addTask {
                    while !Task.isCancelled {
                        await self.housekeeping.removeExpired()
                        try? await Task.sleep(for: .seconds(600))
                    }
                }
                for await _ in self.wakeUps {
                    if Task.isCancelled { break }
                    while await self.workOff() == Self.batch {}
                }
                group.cancelAll()
            }
        }
    }

    /// Tries what is due, once.
    /// - Returns: how many tasks that were.
    @discardableResult
    func workOff() async -> Int {
        let claim: OutboxClaim
        do {
            claim = try await store.claim(limit: Self.batch)
        } catch {
            // Whoever stops the service ends a claim that is under way, too.
            if !Task.isCancelled {
                claimFailures.increment()
                logger.warning("The outbox could not be read", metadata: ["error": "\(error)"])
            }
            return 0
        }
        await withDiscardingTaskGroup { group in
            for entry in claim.entries {
                group.addTask { await self.attempt(entry) }
            }
            for entry in claim.unreadable {
                group.addTask { await self.putBack(entry) }
            }
        }
        return claim.count
    }

    private func attempt(_ entry: OutboxEntry) async {
        do {
            try await deliver(entry)
        } catch {
            failures.increment()
            logger.warning(
                "An outbox task failed and will be tried again",
                metadata: [
                    "task": "\(entry.task.kind)", "id": "\(entry.id)", "attempts": "\(entry.attempts)",
                    "error": "\(error)",
                ])
            // Should this fail, the claim runs out by itself.
            try? await store.postpone(entry, seconds: delay(after: entry.attempts))
        }
    }

    private func putBack(_ entry: UnreadableOutboxEntry) async {
        failures.increment()
        logger.error(
            "An outbox task cannot be read by this version and stays",
            metadata: [
                "task": "\(entry.kind)", "id": "\(entry.id)", "attempts": "\(entry.attempts)",
                "error": "\(entry.flaw)",
            ])
        try? await store.postpone(entry, seconds: delay(after: entry.attempts))
    }

    private func delay(after attempts: Int) -> Double {
        OutboxSchedule.delay(after: attempts, spread: .random(in: 0...1))
    }
}
