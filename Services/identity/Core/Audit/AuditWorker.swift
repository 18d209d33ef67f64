import Foundation
import GatehouseBytes
import GatehouseInstruments
import GatehouseServiceKit
package import Logging
import Postgres
package import ServiceKitPostgres
import ServiceLifecycle
import Synchronization

/// Seals the audit log, adds up its entries for the overview, and adds entries with the numbers of refused sign-ins.
package final class AuditWorker: Service, Sendable {
    private let log: AuditStore
    private let seals: AuditSealStore
    private let counts: AuditCountStore
    private let sequencer: SequencedFeed
    private let logger: Logger
    private let refusals = Mutex(RefusalTally())
    private let headLoggedAt = Mutex<ContinuousClock.Instant?>(nil)

    private let dropped = Counter(
        "identity_audit_refusals_dropped_total",
        help: "Refused attempts that are not in the audit log, because those of too many users were counted.")
    private let failures = Counter(
        "identity_audit_seal_failed_total", help: "Attempts to seal and count the audit log that failed.")
    private let unsealed = Gauge(
        "identity_audit_oldest_unsealed_seconds",
        help: "Age of the oldest entry of the audit log that the chain of hashes does not cover; 0 where there is none."
    )

    /// Between two rounds, while entries are added.
    private static let interval = Duration.seconds(5)
    /// Between two rounds without new entries. Shorter than the window in which refusals are counted.
    private static let rest = Duration.seconds(60)
    /// Between two measurements, which fail apart from the work.
    private static let measuring = Duration.seconds(15)
    /// How often the newest seal is logged, so that a copy exists outside the database.
    private static let headInterval = Duration.seconds(3600)

    package init(log: AuditStore, seals: AuditSealStore, sequencer: SequencedFeed, logger: Logger) {
        self.log = log
        self.seals = seals
        self.sequencer = sequencer
        counts = AuditCountStore(database: log.database)
        self.logger = logger
    }

    /// Counts a refused attempt for the account that was found, or else for that of the signed-in user. Without either,
    /// the attempt is counted only if its method says so.
    /// - Parameter detail: the reason, as a fixed word.
    func refused(_ scope: AuditScope, detail: String) async {
        var user = scope.userID
        switch scope.attempt.target {
        case .user(let id): user = id
        case .owner(let find):
            do {
                user = try await find(log.database) ?? user
            } catch {
                return dropped.increment()
            }
        case nil: break
        }
        if user == nil, scope.attempt.method?.isCountedWithoutUser == true { user = AuditStore.noUser }
        guard let user else { return }
        let key = RefusalTally.Key(userID: user, detail: detail, by: scope.userID)
        if !refusals.withLock({ $0.note(key, from: scope.origin, at: .now) }) { dropped.increment() }
    }

    func run() async throws {
        await cancelWhenGracefulShutdown {
            await withDiscardingTaskGroup { group in
                group.addTask { await self.work() }
                group.addTask {
                    await Periodic(every: Self.measuring).run {
                        self.unsealed.set(max(0, try await self.seals.oldestUnsealedAge() ?? 0))
                        return .afterInterval
                    }
                }
            }
        }
        await writeRefusals(all: true)
    }

    private func work() async {
        while !Task.isCancelled {
            let seen = sequencer.changeCount
            let isDone = await round()
            try? await Task.sleep(for: Self.interval)
            if isDone { await sequencer.waitForChange(after: seen, until: .now + Self.rest) }
        }
    }

    /// - Returns: whether nothing is left to do before the next entry.
    private func round() async -> Bool {
        await writeRefusals(all: false)
        do {
            try await seal()
            while try await counts.countNext() == AuditCountStore.batch {}
            return try await seals.oldestUnsealedAge() == nil && refusals.withLock(\.isEmpty)
        } catch {
            guard !Task.isCancelled else { return false }
            failures.increment()
            logger.warning("The audit log could not be sealed and counted", metadata: ["error": "\(error)"])
            return false
        }
    }

    private func seal() async throws {
        var last: AuditSeal?
        while let seal = try await seals.seal() { last = seal }
        if let last { logHead(last) }
    }

    private func logHead(_ seal: AuditSeal) {
        let isDue = headLoggedAt.withLock { loggedAt in
            if let at = loggedAt, at + Self.headInterval > .now { return false }
            loggedAt = .now
            return true
        }
        guard isDue else { return }
        logger.notice(
            "The audit log is sealed",
            metadata: ["seal": "\(seal.number)", "digest": "\(Hexadecimal.string(seal.digest))"])
    }

    /// - Parameter all: also writes those that are still being counted.
    func writeRefusals(all: Bool) async {
        for (key, counted) in refusals.withLock({ $0.take(at: .now, all: all) }) {
            do {
                let scope = AuditScope(origin: counted.origin)
                try await AuditScope.$current.withValue(scope) {
                    try await AuditStore.record(
                        .signInRefused, key.userID, by: key.by == nil ? .unknown : .user, actorID: key.by,
                        detail: key.detail, count: counted.count, on: log.database)
                }
            } catch let error as PostgresError where error.mayConcernRow {
                dropped.increment()
                logger.error("Refused sign-ins cannot be stored", metadata: ["error": "\(error)"])
            } catch {
                refusals.withLock { $0.putBack(counted, for: key) }
                logger.warning("Refused sign-ins could not be stored yet", metadata: ["error": "\(error)"])
            }
            sequencer.wake()
        }
    }
}
