import Instruments
import Logging
import Postgres
import ServiceLifecycle

/// Removes what has ended, in the background, one batch of one table at a time.
///
/// Every replica runs a purger. For each table, the replica that locks the row in `sweeps` does the next batch; the row
/// also says when that batch is due.
struct Purger: Service {
    let store: SessionStore
    /// Seconds that the feed keeps its entries.
    let revocationRetention: Double
    let logger: Logger
    /// Rows of a batch, in a table with an index on their age.
    var batch = 500
    /// Blocks of a batch, in a table that is read whole: some 500 rows.
    var blocks: Int64 = 32
    /// Between batches when nothing is left to remove.
    var pause: Duration = .seconds(5)
    /// Between two rounds through a table that is read whole.
    var rest: Duration = .seconds(60)
    /// Between batches while there is more to remove: short enough to keep up, and long enough for refreshes to get
    /// through.
    var gap: Duration = .milliseconds(50)

    private let failures = Table.each {
        Counter("tokens_purge_errors_total", help: "Batches of a purge that failed.", labels: [("table", $0.rawValue)])
    }
    private let removed = Table.each {
        Counter("tokens_purged_rows_total", help: "Rows that were purged.", labels: [("table", $0.rawValue)])
    }

    /// Seconds that audit events are kept: two years.
    static let auditRetention: Double = 63_072_000

    /// The tables. Each is purged for itself: a backlog or a failure of one delays no other.
    enum Table: String, Sendable, CaseIterable {
        case sessions
        case users
        case revocations
        case auditEvents = "audit_events"
    }

    func run() async {
        await cancelWhenGracefulShutdown {
            var due = Dictionary(uniqueKeysWithValues: Table.allCases.map { ($0, ContinuousClock.now) })
            while !Task.isCancelled {
                for (table, instant) in due where instant <= .now {
                    let wait = await purge(table)
                    due[table] = .now + wait
                }
                try? await Task.sleep(until: due.values.min() ?? .now + pause)
            }
        }
    }

    /// - Returns: how long to wait for the next batch.
    private func purge(_ table: Table) async -> Duration {
        do {
            return try await step(table) ?? pause
        } catch {
            guard !Task.isCancelled else { return pause }
            failures[table]?.increment()
            logger.warning(
                "A purge failed; it is tried again.", metadata: ["table": "\(table.rawValue)", "error": "\(error)"])
            return pause
        }
    }

    /// Does one batch, if it is due and no other replica is doing it.
    ///
    /// - Returns: how long all replicas wait before the next one; `nil` when there was nothing to do here.
    @discardableResult
    func step(_ table: Table) async throws -> Duration? {
        try await store.pool.withTransaction { transaction in
            guard let block = try await transaction.beginBatch(of: table) else { return Duration?.none }
            let start = ContinuousClock.now
            let (count, hasMore) = try await remove(from: table, block, transaction)
            removed[table]?.increment(by: count)
            // When PostgreSQL is so busy that a batch takes long, purging takes at most a fifth of the time.
            let wait = hasMore ? max(gap, start.duration(to: .now) * 4) : table.isReadWhole ? rest : pause
            try await transaction.endBatch(of: table, nextBlock: hasMore ? block + blocks : 0, after: wait)
            return wait
        }
    }

    private func remove(
        from table: Table, _ block: Int64, _ transaction: PostgresTransaction
    ) async throws(PostgresError) -> (removed: Int, hasMore: Bool) {
        switch table {
        case .sessions:
            return try await store.purgeSessions(in: block..<block + blocks, transaction)
        case .users:
            return try await store.purgeUsers(in: block..<block + blocks, transaction)
        case .revocations:
            let removed = try await store.purgeRevocations(
                retention: revocationRetention, batch: batch, transaction)
            return (removed, removed == batch)
        case .auditEvents:
            let removed = try await store.purgeAuditEvents(retention: Self.auditRetention, batch: batch, transaction)
            return (removed, removed == batch)
        }
    }
}

extension Purger.Table {
    /// Whether the table has no index that leads to what has ended.
    fileprivate var isReadWhole: Bool { self == .sessions || self == .users }

    /// One for each table.
    fileprivate static func each(_ make: (Self) -> Counter) -> [Self: Counter] {
        Dictionary(uniqueKeysWithValues: allCases.map { ($0, make($0)) })
    }
}

extension PostgresTransaction {
    /// Locks the table's row in `sweeps` until the transaction ends.
    ///
    /// - Returns: the block at which the batch begins; `nil` when none is due yet, or when another replica is doing it.
    fileprivate func beginBatch(of table: Purger.Table) async throws(PostgresError) -> Int64? {
        // No wait is as long as an hour. If a batch is due later than that, the clock was set back: it is due now.
        try await query(
            """
            SELECT block FROM sweeps
            WHERE table_name = \(table.rawValue)
                AND (due_at <= statement_timestamp() OR due_at > statement_timestamp() + interval '1 hour')
            FOR UPDATE SKIP LOCKED
            """
        ).decode(Int64.self).first
    }

    fileprivate func endBatch(
        of table: Purger.Table, nextBlock: Int64, after wait: Duration
    ) async throws(PostgresError) {
        try await query(
            """
            UPDATE sweeps SET block = \(nextBlock), due_at = clock_timestamp() + \(wait / .seconds(1)) * interval '1 second'
            WHERE table_name = \(table.rawValue)
            """)
    }
}
