import Contracts
import Foundation
import Postgres
import ServiceKitPostgres

/// Removes what has ended, a few rows with each statement, so that no refresh waits for a purge.
///
/// There is no index on a session's expiry, since every rotation would have to update it. A sweep reads the table block
/// by block instead. It misses a row that moves to another block meanwhile; but that row was just written, so its
/// session lives.
extension SessionStore {
    /// Ends the expired sessions in these blocks, and adds them to the revocation feed.
    ///
    /// - Returns: how many, and whether there are blocks after these.
    func purgeSessions(
        in blocks: Range<Int64>, _ transaction: PostgresTransaction
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
                \(revocationsOfEnded: .expired, lifetimes)
            )
            SELECT (SELECT count(*) FROM ended), \(blocks.upperBound) < \(blocksOf: "sessions")
            """)[0].decode((Int, Bool).self)
    }

    /// Removes the users in these blocks who have no session left. Those who signed out everywhere a moment ago stay
    /// until no sign-in from before can be under way.
    ///
    /// - Returns: how many, and whether there are blocks after these.
    func purgeUsers(
        in blocks: Range<Int64>, _ transaction: PostgresTransaction
    ) async throws(PostgresError) -> (removed: Int, hasMore: Bool) {
        let idle = try await transaction.query(
            """
            SELECT id FROM users
            WHERE ctid >= \(start: blocks.lowerBound) AND ctid < \(start: blocks.upperBound)
                AND NOT EXISTS (SELECT FROM sessions WHERE sessions.user_id = users.id)
                AND (signed_out_at IS NULL
                    OR signed_out_at < statement_timestamp() - \(Self.signOutMemory) * interval '1 second')
            FOR UPDATE SKIP LOCKED
            """
        ).decode(UUID.self)
        // A sign-in may have committed a session between the snapshot of the first statement and its locks. The second
        // statement has a newer snapshot, and the locks refuse further sessions.
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

    /// Removes up to `batch` entries of the feed that are older than `retention` seconds, and stores the last
    /// transaction whose entries were removed: a reader that has not seen it starts over.
    ///
    /// - Returns: how many.
    func purgeRevocations(
        retention: TimeInterval, batch: Int, _ transaction: PostgresTransaction
    ) async throws(PostgresError) -> Int {
        try await transaction.query(
            """
            WITH old AS MATERIALIZED (
                SELECT id FROM revocations
                WHERE revoked_at < statement_timestamp() - \(retention) * interval '1 second'
                ORDER BY revoked_at LIMIT \(batch) FOR UPDATE SKIP LOCKED
            ), removed AS (
                DELETE FROM revocations WHERE id IN (SELECT id FROM old) RETURNING transaction_id
            ), horizon AS (
                \(raise: "revocation_horizon", toThoseOf: "removed")
            )
            SELECT count(*) FROM removed
            """)[0].decode(Int.self)
    }

    /// Removes up to `batch` audit events that are older than `retention` seconds.
    ///
    /// - Returns: how many.
    func purgeAuditEvents(
        retention: TimeInterval, batch: Int, _ transaction: PostgresTransaction
    ) async throws(PostgresError) -> Int {
        try await transaction.query(
            """
            DELETE FROM audit_events WHERE id IN (
                SELECT id FROM audit_events
                WHERE occurred_at < statement_timestamp() - \(retention) * interval '1 second'
                ORDER BY occurred_at LIMIT \(batch) FOR UPDATE SKIP LOCKED)
            """
        ).affectedRows
    }
}

extension PostgresQuery.Interpolation {
    /// Where a block of a table begins.
    fileprivate mutating func appendInterpolation(start block: Int64) {
        appendInterpolation("(\(block),0)")
        appendLiteral("::tid")
    }

    fileprivate mutating func appendInterpolation(blocksOf table: StaticString) {
        appendLiteral("pg_relation_size('\(table)') / current_setting('block_size')::bigint")
    }
}
