import Foundation
import Postgres

extension SessionStore {
    /// Rotates in one statement. Its WHERE clause alone decides whether `presented` is the current token.
    ///
    /// - Returns: `nil` when `presented` is not the current token of a session that has not expired.
    func rotate(
        _ presented: RefreshToken, to successor: RefreshToken, sealed: [UInt8], ipAddress: String?,
        deadline: ContinuousClock.Instant?
    ) async throws(PostgresError) -> SessionGrant? {
        let rows = try await pool.query(
            """
            UPDATE sessions AS session SET
                generation = session.generation + 1,
                current_hash = \(successor.hash),
                previous_hash = session.current_hash,
                sealed_current = \(sealed),
                rotated_at = statement_timestamp(),
                expires_at = LEAST(
                    statement_timestamp() + \(lifetimes.idle) * interval '1 second', session.absolute_expires_at),
                access_expires_at = GREATEST(
                    session.access_expires_at, statement_timestamp() + \(lifetimes.access) * interval '1 second'),
                late_replays = CASE WHEN session.late_replayed THEN session.late_replays ELSE 0 END,
                late_replayed = false,
                ip_address = COALESCE(\(ipAddress), session.ip_address)
            FROM users
            WHERE session.id = \(presented.sessionID) AND session.generation = \(presented.generation)
                AND session.current_hash = \(presented.hash) AND session.expires_at > statement_timestamp()
                AND users.id = session.user_id
            RETURNING session.rotated_at, session.expires_at, \(unescaped: SessionAuthentication.columns),
                users.id, \(unescaped: UserRecord.columns)
            """, deadline: deadline)
        guard let row = rows.first else { return nil }
        let (
            now, expiresAt, authenticatedAt, methods, userID, role, storeIDs, email, isEmailVerified, profile
        ) = try row.decode((Date, Date, Date, [String], UUID, String, [String], String?, Bool, String).self)
        return SessionGrant(
            sessionID: presented.sessionID, now: now, expiresAt: expiresAt,
            authentication: SessionAuthentication(time: authenticatedAt, methods: methods),
            user: UserRecord(
                id: userID, role: role, storeIDs: storeIDs, email: email, isEmailVerified: isEmailVerified,
                profile: profile))
    }

    /// Reads a session with its user.
    ///
    /// - Returns: `nil` when there is no such session.
    func read(_ id: UUID, deadline: ContinuousClock.Instant?) async throws(PostgresError) -> SessionRecord? {
        let rows = try await pool.query(
            """
            SELECT statement_timestamp(), session.generation, session.current_hash, session.previous_hash,
                session.sealed_current, session.rotated_at, session.late_replays, session.late_replayed,
                session.expires_at, session.absolute_expires_at, \(unescaped: SessionAuthentication.columns),
                users.id, \(unescaped: UserRecord.columns)
            FROM sessions AS session JOIN users ON users.id = session.user_id WHERE session.id = \(id)
            """, deadline: deadline)
        guard let row = rows.first else { return nil }
        let (
            now, generation, currentHash, previousHash, sealed, rotatedAt, lateReplays, lateReplayed, expiresAt,
            absoluteExpiresAt, authenticatedAt, methods, userID, role, storeIDs, email, isEmailVerified, profile
        ) = try row.decode(
            (
                Date, Int32, [UInt8], [UInt8]?, [UInt8]?, Date, Int, Bool, Date, Date, Date, [String], UUID, String,
                [String], String?, Bool, String
            ).self)
        return SessionRecord(
            state: SessionState(
                generation: generation, currentHash: currentHash, previousHash: previousHash, rotatedAt: rotatedAt,
                lateReplays: lateReplays, lateReplayed: lateReplayed, expiresAt: expiresAt,
                absoluteExpiresAt: absoluteExpiresAt),
            sealedCurrent: sealed,
            grant: SessionGrant(
                sessionID: id, now: now, expiresAt: expiresAt,
                authentication: SessionAuthentication(time: authenticatedAt, methods: methods),
                user: UserRecord(
                    id: userID, role: role, storeIDs: storeIDs, email: email, isEmailVerified: isEmailVerified,
                    profile: profile)))
    }

    /// Counts a late replay of the current token's predecessor, once for each generation.
    ///
    /// - Returns: `false` when the row is no longer as it was read.
    func countLateReplay(
        of id: UUID, generation: Int32, deadline: ContinuousClock.Instant?
    ) async throws(PostgresError) -> Bool {
        let result = try await pool.query(
            """
            UPDATE sessions SET late_replays = late_replays + 1, late_replayed = true
            WHERE id = \(id) AND generation = \(generation) AND NOT late_replayed
            """, deadline: deadline)
        return result.affectedRows == 1
    }
}
