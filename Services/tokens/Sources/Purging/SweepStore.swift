import Foundation
import GatehouseInstruments
import GatehouseServiceContracts
import Logging
import Postgres
import ServiceKitPostgres

/// Removes expired rows in batches, by one replica at a time.
///
/// Every replica runs a purger. For each table, the replica that locks the row in `sweeps` does the next batch; the row
/// also says where that batch begins and when it is due. A batch is small, so that no refresh waits for a purge.
struct SweepStore: Sendable {
    let sessions: SessionStore
    /// Seconds for which the feed keeps its entries.
    let revocationRetention: Double
    /// Rows that a batch looks at.
    var batch = 500
    /// The time between batches when nothing is left to remove.
    var pause: Duration = .seconds(30)
    /// The time between two looks at the sessions whose day has come.
    var rest: Duration = .seconds(60)
    /// The time between batches while rows are left to remove. It is short enough to remove rows as fast as they
    /// expire, and long enough not to delay refreshes.
    var gap: Duration = .milliseconds(50)

    private let removed = Purger.counters(
        "tokens_purged_rows_total", help: "Rows that were purged.", of: Table.self)

    /// Seconds for which security events are kept: two years.
    static let securityEventRetention: Double = 63_072_000

    /// Selects the expiry of the expired session that the sweep reaches first.
    static let firstExpiry = """
        SELECT expires_at FROM sessions
        WHERE expiry_day <= (statement_timestamp() AT TIME ZONE 'UTC')::date AND expires_at < statement_timestamp()
        ORDER BY expiry_day, id LIMIT 1
        """

    enum Table: String, Sendable, CaseIterable {
        case sessions
        case users
        case revocations = "revocation_log"
        case securityEvents = "security_events"
    }

    func purger(logger: Logger) -> Purger {
        let failures = Purger.counters(
            "tokens_purge_errors_total", help: "Batches of a purge that failed.", of: Table.self)
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
            guard let position = try await Self.beginBatch(of: table, on: transaction) else {
                return (Duration?.none, false)
            }
            // Without statistics, which PostgreSQL does not keep of partitioned tables, a plan might read whole tables.
            // One that cannot do without such a scan seems immense, and JIT would compile it.
            try await transaction.query(
                """
                SELECT set_config(name, 'off', true)
                FROM unnest(ARRAY['enable_seqscan', 'enable_hashjoin', 'enable_mergejoin', 'jit']) AS name
                """)
            let start = ContinuousClock.now
            let result = try await remove(from: table, after: position, on: transaction)
            removed[table.rawValue]?.increment(by: result.removed)
            // When PostgreSQL is busy and a batch takes long, purging uses at most a fifth of the time.
            let wait = result.hasMore ? max(gap, start.duration(to: .now) * 4) : table == .sessions ? rest : pause
            try await Self.endBatch(of: table, at: result.position, after: wait, on: transaction)
            return (wait, table == .sessions && result.removed > 0)
        }
        if hasRevoked { sessions.didRevoke() }
        return wait
    }

    /// Where the next batch of a table begins.
    struct Position: Sendable, Equatable {
        /// After this session, of the sessions whose day has come.
        var day: String?
        var sessionID: UUID?
        /// After this entry of the revocation log: its own purge, and that of the users whose sessions ended.
        var seq: Int64 = 0
    }

    /// What a batch has done.
    struct Batch: Sendable {
        var removed: Int
        var hasMore: Bool
        /// Where the next one begins.
        var position = Position()
    }

    private func remove(
        from table: Table, after position: Position, on transaction: PostgresTransaction
    ) async throws(PostgresError) -> Batch {
        switch table {
        case .sessions: return try await purgeSessions(after: position, on: transaction)
        case .users: return try await purgeUsers(after: position, on: transaction)
        case .revocations: return try await purgeRevocations(after: position, on: transaction)
        case .securityEvents:
            let removed = try await purgeSecurityEvents(on: transaction)
            return Batch(removed: removed, hasMore: removed == batch)
        }
    }
}

extension SweepStore {
    /// Locks the table's row in `sweeps` until the transaction ends.
    ///
    /// - Returns: where the batch begins; `nil` when no batch is due yet, or another replica holds the lock.
    private static func beginBatch(
        of table: Table, on transaction: PostgresTransaction
    ) async throws(PostgresError) -> Position? {
        // No wait lasts an hour. If a batch seems due in more than an hour, the clock was set back, and the batch is
        // due now.
        try await transaction.query(
            """
            SELECT day::text, session_id, seq FROM sweeps
            WHERE table_name = \(table.rawValue)
                AND (due_at <= statement_timestamp() OR due_at > statement_timestamp() + interval '1 hour')
            FOR UPDATE SKIP LOCKED
            """
        ).decode((String?, UUID?, Int64).self).first.map(Position.init)
    }

    private static func endBatch(
        of table: Table, at position: Position, after wait: Duration, on transaction: PostgresTransaction
    ) async throws(PostgresError) {
        try await transaction.query(
            """
            UPDATE sweeps SET day = \(position.day)::date, session_id = \(position.sessionID), seq = \(position.seq),
                due_at = clock_timestamp() + \(wait / .seconds(1)) * interval '1 second'
            WHERE table_name = \(table.rawValue)
            """)
    }
}

/// The batches.
extension SweepStore {
    /// Ends the next expired sessions, and adds them to the revocation feed. Of the sessions whose day has come, those
    /// that were used since get the day on which they will expire now.
    func purgeSessions(
        after position: Position, on transaction: PostgresTransaction
    ) async throws(PostgresError) -> Batch {
        let rows = try await transaction.query(
            """
            WITH due AS MATERIALIZED (
                SELECT bucket, id, expiry_day, expires_at FROM sessions
                WHERE expiry_day <= (statement_timestamp() AT TIME ZONE 'UTC')::date
                    AND (expiry_day, id) > (
                        COALESCE(\(position.day)::date, '-infinity'),
                        COALESCE(\(position.sessionID), '00000000-0000-0000-0000-000000000000'))
                ORDER BY expiry_day, id LIMIT \(batch)
            ), locked AS MATERIALIZED (
                -- Not those that expire later today. If a row changes before it is locked, its new values are read.
                SELECT bucket, id, expiry_day, expires_at FROM sessions
                WHERE (bucket, id) IN (
                    SELECT bucket, id FROM due
                    WHERE expires_at <= statement_timestamp() OR expiry_day < (expires_at AT TIME ZONE 'UTC')::date)
                FOR UPDATE SKIP LOCKED
            ), ended AS (
                DELETE FROM sessions
                WHERE (bucket, id) IN (SELECT bucket, id FROM locked WHERE expires_at <= statement_timestamp())
                RETURNING bucket, id, user_id, access_expires_at
            ), entries AS (
                \(revocationsOfEnded: .expired, sessions.lifetimes)
            ), later AS (
                UPDATE sessions SET expiry_day = (locked.expires_at AT TIME ZONE 'UTC')::date FROM locked
                WHERE sessions.bucket = locked.bucket AND sessions.id = locked.id
                    AND locked.expires_at > statement_timestamp()
            )
            SELECT (SELECT count(*) FROM ended), count(*) OVER (), expiry_day::text, id FROM due
            ORDER BY expiry_day DESC, id DESC LIMIT 1
            """
        ).decode((Int, Int, String, UUID).self)
        guard let (ended, looked, day, id) = rows.first else { return Batch(removed: 0, hasMore: false) }
        guard looked == batch else { return Batch(removed: ended, hasMore: false) }
        return Batch(removed: ended, hasMore: true, position: Position(day: day, sessionID: id))
    }

    /// Removes the users without a session: those whose sessions ended, in the order of the revocation log, and those
    /// who signed out everywhere. Both only when no sign-in can be in progress that began before.
    func purgeUsers(
        after position: Position, on transaction: PostgresTransaction
    ) async throws(PostgresError) -> Batch {
        let memory = SessionStore.signOutMemory
        let next = try await transaction.query(
            """
            SELECT seq, user_id, stamped_at > statement_timestamp() - \(memory) * interval '1 second'
            FROM revocation_log WHERE seq > \(withinLog: position.seq) ORDER BY seq LIMIT \(batch)
            """
        ).decode((Int64, UUID, Bool).self)
        let entries = next.prefix { _, _, isRecent in !isRecent }
        let signedOut = try await transaction.query(
            """
            SELECT id FROM users WHERE signed_out_at < statement_timestamp() - \(memory) * interval '1 second'
            ORDER BY signed_out_at LIMIT \(batch)
            """
        ).decode(UUID.self)
        let users = Array(Set(entries.map(\.1)).union(signedOut))
        let locked = try await transaction.query(
            """
            SELECT id FROM users
            WHERE (bucket, id) IN (\(buckets: users))
                AND (signed_out_at IS NOT NULL OR NOT EXISTS (\(unescaped: Self.sessionOfUser)))
            ORDER BY id FOR UPDATE
            """
        ).decode(UUID.self)
        // A sign-in may have committed a session before the locks were given. This statement sees it, and the locks
        // exclude further sessions. A user whose time has not come yet is found by the time of signing out later.
        let removed = try await transaction.query(
            """
            WITH forgotten AS (
                DELETE FROM users
                WHERE (bucket, id) IN (\(buckets: locked)) AND NOT EXISTS (\(unescaped: Self.sessionOfUser))
                    AND (signed_out_at IS NULL
                        OR signed_out_at < statement_timestamp() - \(memory) * interval '1 second')
                RETURNING id
            ), remembered_enough AS (
                UPDATE users SET signed_out_at = NULL
                WHERE (bucket, id) IN (\(buckets: signedOut)) AND EXISTS (\(unescaped: Self.sessionOfUser))
                    AND signed_out_at < statement_timestamp() - \(memory) * interval '1 second'
            )
            SELECT count(*) FROM forgotten
            """)[0].decode(Int.self)
        return Batch(
            removed: removed, hasMore: entries.count == batch || signedOut.count == batch,
            position: Position(seq: entries.last?.0 ?? position.seq))
    }

    private static let sessionOfUser = """
        SELECT FROM sessions WHERE sessions.bucket = users.bucket AND sessions.user_id = users.id
        """

    /// Removes the oldest entries of the feed, at most ``batch``. The last of those that are old enough always stays: a
    /// reader that had read everything before the others came goes on behind it.
    func purgeRevocations(
        after position: Position, on transaction: PostgresTransaction
    ) async throws(PostgresError) -> Batch {
        let (removed, last) = try await transaction.query(
            """
            WITH oldest AS MATERIALIZED (
                SELECT seq, stamped_at FROM revocation_log
                WHERE seq > \(withinLog: position.seq) ORDER BY seq LIMIT \(batch + 1)
            ), kept AS (
                SELECT COALESCE(min(seq) FILTER (
                    WHERE stamped_at >= statement_timestamp() - \(revocationRetention) * interval '1 second') - 1,
                    max(seq)) AS seq
                FROM oldest
            ), removed AS (
                DELETE FROM revocation_log
                WHERE seq IN (SELECT seq FROM oldest) AND seq < (SELECT seq FROM kept) RETURNING seq
            )
            SELECT (SELECT count(*) FROM removed), (SELECT max(seq) FROM removed)
            """
        )[0].decode((Int, Int64?).self)
        return Batch(
            removed: removed, hasMore: removed == batch, position: Position(seq: last ?? position.seq))
    }

    /// Removes up to ``batch`` old security events.
    ///
    /// - Returns: the number of removed events.
    private func purgeSecurityEvents(on transaction: PostgresTransaction) async throws(PostgresError) -> Int {
        try await transaction.query(
            """
            DELETE FROM security_events WHERE (bucket, id) IN (
                SELECT bucket, id FROM security_events
                WHERE occurred_at < statement_timestamp() - \(Self.securityEventRetention) * interval '1 second'
                ORDER BY occurred_at LIMIT \(batch) FOR UPDATE SKIP LOCKED)
            """
        ).affectedRows
    }
}

extension PostgresQuery.Interpolation {
    /// Rows of the bucket and the id of each user.
    fileprivate mutating func appendInterpolation(buckets users: [UUID]) {
        appendLiteral("SELECT bucket, id FROM unnest(")
        appendInterpolation(users.map { Bucket(user: $0).rawValue })
        appendLiteral(", ")
        appendInterpolation(users)
        appendLiteral(") AS listed (bucket, id)")
    }

    /// A position in the revocation log; the beginning where it lies beyond the log's end, as after a restore.
    fileprivate mutating func appendInterpolation(withinLog seq: Int64) {
        appendInterpolation(seq)
        appendLiteral(" * (")
        appendInterpolation(seq)
        appendLiteral(" <= (SELECT max(seq) FROM revocation_log))::integer")
    }
}
