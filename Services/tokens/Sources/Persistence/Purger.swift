import Foundation
import Logging
import Metrics
import Postgres
import ServiceLifecycle

/// Removes what has ended, in the background, a batch of one table at a time. Every replica may run one: they pass over
/// rows that another holds.
struct Purger: Service {
    let store: SessionStore
    /// Seconds that the feed keeps its entries.
    let revocationRetention: TimeInterval
    let logger: Logger
    var batch = 500
    /// When there is nothing more to do.
    var pause: Duration = .seconds(5)
    /// When there is more: short, so that no amount of it is too much, and not nothing, for the sake of the refreshes.
    var breath: Duration = .milliseconds(50)

    /// Seconds that audit events are kept: two years.
    static let auditRetention: TimeInterval = 63_072_000

    /// What is purged, each for itself: none waits for another's backlog or fails with it.
    enum Table: String, Sendable, CaseIterable {
        case sessions
        case users
        case revocations
        case auditEvents = "audit_events"
    }

    func run() async {
        await cancelWhenGracefulShutdown {
            var sweeps = Table.allCases.map { Sweep(table: $0) }
            while !Task.isCancelled {
                for index in sweeps.indices where sweeps[index].due <= .now { await purge(&sweeps[index]) }
                try? await Task.sleep(until: sweeps.map(\.due).min() ?? .now + pause)
            }
        }
    }

    /// The way through one table.
    private struct Sweep {
        let table: Table
        var position: UUID?
        /// When the next batch is.
        var due = ContinuousClock.now
    }

    private func purge(_ sweep: inout Sweep) async {
        let table = sweep.table.rawValue
        let start = ContinuousClock.now
        var hasMore = false
        do {
            hasMore = try await step(sweep.table, &sweep.position)
        } catch {
            guard !Task.isCancelled else { return }
            Counter(label: "tokens_purge_errors_total", dimensions: [("table", table)]).increment()
            logger.warning(
                "A purge failed; it is tried again.", metadata: ["table": "\(table)", "error": "\(error)"])
        }
        // Where a batch takes long, PostgreSQL has other things to do for four fifths of the time.
        sweep.due = .now + (hasMore ? max(breath, start.duration(to: .now) * 4) : pause)
    }

    /// One batch.
    ///
    /// - Parameter position: where the sweep of the table is.
    /// - Returns: whether there is more to do at once.
    func step(_ table: Table, _ position: inout UUID?) async throws(PostgresError) -> Bool {
        let (removed, hasMore) = try await remove(from: table, &position)
        Counter(label: "tokens_purged_rows_total", dimensions: [("table", table.rawValue)]).increment(by: removed)
        return hasMore
    }

    private func remove(
        from table: Table, _ position: inout UUID?
    ) async throws(PostgresError) -> (removed: Int, hasMore: Bool) {
        switch table {
        case .sessions:
            let sweep = try await store.purgeSessions(after: position, batch: batch)
            position = sweep.next
            return (sweep.removed, sweep.next != nil)
        case .users:
            let sweep = try await store.purgeUsers(after: position, batch: batch)
            position = sweep.next
            return (sweep.removed, sweep.next != nil)
        case .revocations:
            let removed = try await store.purgeRevocations(retention: revocationRetention, batch: batch)
            return (removed, removed == batch)
        case .auditEvents:
            let removed = try await store.purgeAuditEvents(retention: Self.auditRetention, batch: batch)
            return (removed, removed == batch)
        }
    }
}
