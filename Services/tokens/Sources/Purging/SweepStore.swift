import Contracts
import Foundation
import Instruments
import Logging
import Postgres
import ServiceKitPostgres

/// Removes expired rows in batches, by one replica at a time.
///
/// Every replica runs a purger. For each table, the replica that locks the row in `sweeps` does the next batch; the row
/// also says when that batch is due. A batch is small, so that no refresh waits for a purge.
struct SweepStore: Sendable {
    let sessions: SessionStore
    /// Seconds for which the feed keeps its entries.
    let revocationRetention: Double
    /// Rows of a batch in a table with an index on age.
    var batch = 500
    /// Blocks of a batch in a table that is scanned: about 500 rows.
    var blocks: Int64 = 32
    /// The time between batches when nothing is left to remove.
    var pause: Duration = .seconds(5)
    /// The time between two scans of a table.
    var rest: Duration = .seconds(60)
    /// The time between batches while rows are left to remove. It is short enough to remove rows as fast as they
    /// expire, and long enough not to delay refreshes.
    var gap: Duration = .milliseconds(50)

    private let removed = Table.each {
        Counter("tokens_purged_rows_total", help: "Rows that were purged.", labels: [("table", $0)])
    }

    /// Seconds for which audit events are kept: two years.
    static let auditRetention: Double = 63_072_000

    enum Table: String, Sendable, CaseIterable {
        case sessions
        case users
        case revocations = "revocation_log"
        case auditEvents = "audit_events"
    }

    func purger(logger: Logger) -> Purger {
        let failures = Table.each {
            Counter("tokens_purge_errors_total", help: "Batches of a purge that failed.", labels: [("table", $0)])
        }
        let tables = Table.allCases.map { table in
            Purger.Table(table.rawValue) { try await step(table) }
        }
        return Purger(tables, pause: pause, logger: logger) { failures[$0.name]?.increment() }
    }

    /// Purges one batch, if it is due and no other replica is purging the table.
    ///
    /// - Returns: how long all replicas wait before the next batch; `nil` when this replica purged none.
    @discardableResult
    func step(_ table: Table) async throws -> Duration? {
        let (wait, hasRevoked) = try await sessions.database.withTransaction { transaction in
            guard let block = try await Self.beginBatch(of: table, on: transaction) else { return (Duration?.none, false) }
            let start = ContinuousClock.now
            let (count, hasMore) = try await remove(from: table, block, on: transaction)
            removed[table.rawValue]?.increment(by: count)
            // When PostgreSQL is busy and a batch takes long, purging uses at most a fifth of the time.
            let wait = hasMore ? max(gap, start.duration(to: .now) * 4) : table.isReadWhole ? rest : pause
            try await Self.endBatch(of: table, nextBlock: hasMore ? block + blocks : 0, after: wait, on: transaction)
            return (wait, table == .sessions && count > 0)
        }
        if hasRevoked { sessions.didRevoke() }
        return wait
    }

    private func remove(
        from table: Table, _ block: Int64, on transaction: PostgresTransaction
    ) async throws(PostgresError) -> (removed: Int, hasMore: Bool) {
        switch table {
        case .sessions:
            return try await purgeSessions(in: block..<block + blocks, on: transaction)
        case .users:
            return try await purgeUsers(in: block..<block + blocks, on: transaction)
        case .revocations:
            let removed = try await purgeRevocations(on: transaction)
            return (removed, removed == batch)
        case .auditEvents:
            let removed = try await purgeAuditEvents(on: transaction)
            return (removed, removed == batch)
        }
    }
}

extension SweepStore.Table {
    /// Whether the table has no index that leads to expired rows, and must be scanned.
    fileprivate var isReadWhole: Bool { self == .sessions || self == .users }

    /// A metric for each table, by the table's name.
    fileprivate static func each(_ make: (String) -> Counter) -> [String: Counter] {
        Dictionary(uniqueKeysWithValues: allCases.map { ($0.rawValue, make($0.rawValue)) })
    }
}

extension SweepStore {
    /// Locks the table's row in `sweeps` until the transaction ends.
    ///
    /// - Returns: the first block of the batch; `nil` when no batch is due yet, or another replica holds the lock.
    private static func beginBatch(
        of table: Table, on transaction: PostgresTransaction
    ) async throws(PostgresError) -> Int64? {
        // No wait lasts an hour. If a batch seems due in more than an hour, the clock was set back, and the batch is
        // due now.
        try await transaction.query(
            """
            SELECT block FROM sweeps
            WHERE table_name = \(table.rawValue)
                AND (due_at <= statement_timestamp() OR due_at > statement_timestamp() + interval '1 hour')
            FOR UPDATE SKIP LOCKED
            """
        ).decode(Int64.self).first
    }

    private static func endBatch(
        of table: Table, nextBlock: Int64, after wait: Duration, on transaction: PostgresTransaction
    ) async throws(PostgresError) {
        try await transaction.query(
            """
            UPDATE sweeps SET block = \(nextBlock), due_at = clock_timestamp() + \(wait / .seconds(1)) * interval '1 second'
            WHERE table_name = \(table.rawValue)
            """)
    }
}

/// The batches.
///
/// A session's expiry has no index, because every rotation would have to update it. A sweep reads the table block by
/// block instead. The sweep misses a row that moves to another block meanwhile. That row was just written, so its
/// session has not expired.
extension SweepStore {
    /// Ends the expired sessions in these blocks, and adds them to the revocation feed.
    ///
    /// - Returns: the number of ended sessions, and whether the table has more blocks.
    func purgeSessions(
        in blocks: Range<Int64>, on transaction: PostgresTransaction
    ) async throws(PostgresError) -> (removed: Int, hasMore: Bool) {
        try await transaction.query(
            """
            WITH dead AS MATERIALIZED (
                -- If a row changes before it is locked, the lock checks the condition again.
                SELECT id FROM sessions
                WHERE ctid >= \(start: blocks.lowerBound) AND ctid < \(start: blocks.upperBound)
                    AND expires_at <= statement_timestamp()
                FOR UPDATE SKIP LOCKED
            ), ended AS (
                DELETE FROM sessions WHERE id IN (SELECT id FROM dead) RETURNING id, user_id, access_expires_at
            ), entries AS (
                \(revocationsOfEnded: .expired, sessions.lifetimes)
            )
            SELECT (SELECT count(*) FROM ended), \(blocks.upperBound) < \(blocksOf: "sessions")
            """)[0].decode((Int, Bool).self)
    }

    /// Removes the users in these blocks who have no session left. A user who recently signed out everywhere stays
    /// until no earlier sign-in can still be in progress.
    ///
    /// - Returns: the number of removed users, and whether the table has more blocks.
    func purgeUsers(
        in blocks: Range<Int64>, on transaction: PostgresTransaction
    ) async throws(PostgresError) -> (removed: Int, hasMore: Bool) {
        let idle = try await transaction.query(
            """
            SELECT id FROM users
            WHERE ctid >= \(start: blocks.lowerBound) AND ctid < \(start: blocks.upperBound)
                AND NOT EXISTS (SELECT FROM sessions WHERE sessions.user_id = users.id)
                AND (signed_out_at IS NULL
                    OR signed_out_at < statement_timestamp() - \(SessionStore.signOutMemory) * interval '1 second')
            FOR UPDATE SKIP LOCKED
            """
        ).decode(UUID.self)
        // A sign-in may have committed a session between the snapshot of the first statement and its locks. The second
        // statement has a newer snapshot, and the locks exclude further sessions.
        return try await transaction.query(
            """
            WITH forgotten AS (
                DELETE FROM users
                WHERE id = ANY (\(idle))
                    AND NOT EXISTS (SELECT FROM sessions WHERE sessions.user_id = users.id)
                RETURNING id
            )
            SELECT (SELECT count(*) FROM forgotten), \(blocks.upperBound) < \(blocksOf: "users")
            """)[0].decode((Int, Bool).self)
    }

    /// Removes the oldest entries of the feed, at most ``batch``, up to the first one that is to be kept. The newest
    /// entry always stays: a cursor behind it is valid as long as nothing happens. A reader that has not come as far as
    /// what was removed starts over.
    ///
    /// - Returns: the number of removed entries.
    func purgeRevocations(on transaction: PostgresTransaction) async throws(PostgresError) -> Int {
        try await transaction.query(
            """
            WITH oldest AS MATERIALIZED (
                SELECT seq, stamped_at FROM revocation_log ORDER BY seq LIMIT \(batch + 1)
            )
            DELETE FROM revocation_log WHERE seq < (
                SELECT COALESCE(min(seq) FILTER (
                    WHERE stamped_at >= statement_timestamp() - \(revocationRetention) * interval '1 second'), max(seq))
                FROM oldest)
            """
        ).affectedRows
    }

    /// Removes up to ``batch`` old audit events.
    ///
    /// - Returns: the number of removed events.
    private func purgeAuditEvents(on transaction: PostgresTransaction) async throws(PostgresError) -> Int {
        try await transaction.query(
            """
            DELETE FROM audit_events WHERE id IN (
                SELECT id FROM audit_events
                WHERE occurred_at < statement_timestamp() - \(Self.auditRetention) * interval '1 second'
                ORDER BY occurred_at LIMIT \(batch) FOR UPDATE SKIP LOCKED)
            """
        ).affectedRows
    }
}

extension PostgresQuery.Interpolation {
    /// The `ctid` at which a block of a table begins.
    fileprivate mutating func appendInterpolation(start block: Int64) {
        appendInterpolation("(\(block),0)")
        appendLiteral("::tid")
    }

    fileprivate mutating func appendInterpolation(blocksOf table: StaticString) {
        appendLiteral("pg_relation_size('\(table)') / current_setting('block_size')::bigint")
    }
}
