import Contracts
import Foundation
import Postgres

/// What has ended is removed a few rows at a time, by statements so short that no refresh waits for one. There is no
/// index on the expiry, which every rotation moves; a sweep reads the table once round in the order of its key.
extension SessionStore {
    struct Sweep: Sendable, Equatable {
        /// Where the next batch begins; `nil` when the end was reached.
        var next: UUID?
        var removed: Int
    }

    /// Ends expired sessions among the `batch` that follow `last`, and tells the revocation feed.
    func purgeSessions(after last: UUID?, batch: Int) async throws(PostgresError) -> Sweep {
        let rows = try await pool.query(
            """
            WITH page AS MATERIALIZED (
                SELECT id, expires_at FROM sessions WHERE id > \(last ?? .zero) ORDER BY id LIMIT \(batch)
            ), dead AS MATERIALIZED (
                -- Asked of the locked row once more: a rotation may have moved the expiry since the page was read.
                SELECT id FROM sessions
                WHERE id IN (SELECT id FROM page WHERE expires_at <= statement_timestamp())
                    AND expires_at <= statement_timestamp()
                FOR UPDATE SKIP LOCKED
            ), ended AS (
                DELETE FROM sessions WHERE id IN (SELECT id FROM dead) RETURNING id, user_id, access_expires_at
            ), entries AS (
                \(revocationsOfEnded: .expired, lifetimes)
            )
            SELECT (SELECT id FROM page ORDER BY id DESC LIMIT 1), (SELECT count(*) FROM page),
                (SELECT count(*) FROM ended)
            """)
        let (next, seen, removed) = try rows[0].decode((UUID?, Int, Int).self)
        return Sweep(next: seen < batch ? nil : next, removed: removed)
    }

    /// Forgets those among the `batch` users that follow `last` who have no session left and have not just signed out
    /// everywhere.
    func purgeUsers(after last: UUID?, batch: Int) async throws(PostgresError) -> Sweep {
        let rows = try await pool.query(
            """
            WITH page AS MATERIALIZED (
                SELECT id FROM users WHERE id > \(last ?? .zero) ORDER BY id LIMIT \(batch)
            ), idle AS MATERIALIZED (
                SELECT id FROM users
                WHERE id IN (SELECT id FROM page)
                    AND NOT EXISTS (SELECT FROM sessions WHERE sessions.user_id = users.id)
                    AND (signed_out_at IS NULL
                        OR signed_out_at < statement_timestamp() - \(Self.signOutMemory) * interval '1 second')
                FOR UPDATE SKIP LOCKED
            ), forgotten AS (
                DELETE FROM users WHERE id IN (SELECT id FROM idle) RETURNING id
            )
            SELECT (SELECT id FROM page ORDER BY id DESC LIMIT 1), (SELECT count(*) FROM page),
                (SELECT count(*) FROM forgotten)
            """)
        let (next, seen, removed) = try rows[0].decode((UUID?, Int, Int).self)
        return Sweep(next: seen < batch ? nil : next, removed: removed)
    }

    /// Removes up to `batch` entries of the feed that are older than `retention` seconds, and remembers how far, so
    /// that readers who were away for longer start over.
    ///
    /// - Returns: how many.
    func purgeRevocations(retention: TimeInterval, batch: Int) async throws(PostgresError) -> Int {
        try await pool.query(
            """
            WITH old AS MATERIALIZED (
                SELECT id FROM revocations
                WHERE revoked_at < statement_timestamp() - \(retention) * interval '1 second'
                ORDER BY revoked_at LIMIT \(batch) FOR UPDATE SKIP LOCKED
            ), removed AS (
                DELETE FROM revocations WHERE id IN (SELECT id FROM old) RETURNING transaction_id
            ), horizon AS (
                UPDATE revocation_horizon SET purged_through = GREATEST(
                    purged_through, (SELECT transaction_id FROM removed ORDER BY transaction_id DESC LIMIT 1))
                WHERE EXISTS (SELECT FROM removed)
            )
            SELECT count(*) FROM removed
            """)[0].decode(Int.self)
    }

    /// Removes up to `batch` audit events that are older than `retention` seconds.
    ///
    /// - Returns: how many.
    func purgeAuditEvents(retention: TimeInterval, batch: Int) async throws(PostgresError) -> Int {
        try await pool.query(
            """
            DELETE FROM audit_events WHERE id IN (
                SELECT id FROM audit_events
                WHERE occurred_at < statement_timestamp() - \(retention) * interval '1 second'
                ORDER BY occurred_at LIMIT \(batch) FOR UPDATE SKIP LOCKED)
            """
        ).affectedRows
    }
}

extension UUID {
    fileprivate static var zero: UUID { UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)) }
}
