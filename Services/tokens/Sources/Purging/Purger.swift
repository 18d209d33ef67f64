import Logging
import Metrics
import Postgres
import ServiceLifecycle

/// Removes what has ended, in the background, a batch of one table at a time. Every replica runs one, and for each table
/// one of them is at it: whose turn it is says the row in `sweeps`, by its lock, and how long all have to wait.
struct Purger: Service {
    let store: SessionStore
    /// Seconds that the feed keeps its entries.
    let revocationRetention: Double
    let logger: Logger
    /// Rows of a table that has an index on their age.
    var batch = 500
    /// Blocks of a table that is read once round: some 500 rows.
    var blocks: Int64 = 32
    /// When there is nothing more to do.
    var pause: Duration = .seconds(5)
    /// From the end of a table that is read once round to its next beginning.
    var rest: Duration = .seconds(60)
    /// When there is more: short, so that no amount of it is too much, and not nothing, for the sake of the refreshes.
    var breath: Duration = .milliseconds(50)

    /// Seconds that audit events are kept: two years.
    static let auditRetention: Double = 63_072_000

    /// What is purged, each for itself: none waits for another's backlog or fails with it.
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
            Counter(label: "tokens_purge_errors_total", dimensions: [("table", table.rawValue)]).increment()
            logger.warning(
                "A purge failed; it is tried again.", metadata: ["table": "\(table.rawValue)", "error": "\(error)"])
            return pause
        }
    }

    /// One batch, if it is time for one and no other replica is at it.
    ///
    /// - Returns: how long all replicas wait for the next one; `nil` when it was another's turn.
    @discardableResult
    func step(_ table: Table) async throws -> Duration? {
        try await store.pool.withTransaction { transaction in
            guard let block = try await transaction.takeTurn(at: table) else { return Duration?.none }
            let start = ContinuousClock.now
            let (removed, hasMore) = try await remove(from: table, block, transaction)
            Counter(label: "tokens_purged_rows_total", dimensions: [("table", table.rawValue)]).increment(by: removed)
            // Where a batch takes long, PostgreSQL has other things to do for four fifths of the time.
            let wait = hasMore ? max(breath, start.duration(to: .now) * 4) : table.isReadWhole ? rest : pause
            try await transaction.endTurn(at: table, nextBlock: hasMore ? block + blocks : 0, after: wait)
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
    /// Where no index leads to what has ended.
    fileprivate var isReadWhole: Bool { self == .sessions || self == .users }
}

extension PostgresTransaction {
    /// The block of the table at which the next batch begins; `nil` when it is not time for one, or when another
    /// replica is at it. The turn lasts as long as the transaction.
    fileprivate func takeTurn(at table: Purger.Table) async throws(PostgresError) -> Int64? {
        // No wait is as long as an hour: the clock has been set back.
        try await query(
            """
            SELECT block FROM sweeps
            WHERE table_name = \(table.rawValue)
                AND (due_at <= statement_timestamp() OR due_at > statement_timestamp() + interval '1 hour')
            FOR UPDATE SKIP LOCKED
            """
        ).decode(Int64.self).first
    }

    fileprivate func endTurn(
        at table: Purger.Table, nextBlock: Int64, after wait: Duration
    ) async throws(PostgresError) {
        try await query(
            """
            UPDATE sweeps SET block = \(nextBlock), due_at = clock_timestamp() + \(wait / .seconds(1)) * interval '1 second'
            WHERE table_name = \(table.rawValue)
            """)
    }
}
