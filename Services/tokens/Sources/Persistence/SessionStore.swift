import Contracts
import Foundation
import Postgres

/// The sessions in PostgreSQL. Every write that depends on what was read says so in its WHERE clause.
struct SessionStore: Sendable {
    let pool: PostgresPool
    let lifetimes: Lifetimes

    /// Seconds.
    struct Lifetimes: Sendable, Equatable {
        var access: TimeInterval = 3600
        var idle: TimeInterval = 2_592_000
        var absolute: TimeInterval = 31_536_000
    }

    /// Makes a session, and room for it: above `limit` sessions of one user the least recently used ones end.
    ///
    /// - Returns: `nil` when the user was erased, so that no sign-in outruns the erasure.
    func create(
        _ token: RefreshToken, for snapshot: UserSnapshot, device: SessionDevice?, ipAddress: String?, limit: Int,
        deadline: ContinuousClock.Instant?
    ) async throws -> SessionGrant? {
        let user = try UserRecord(snapshot.user)
        return try await pool.withTransaction(deadline: deadline) { transaction in
            try await transaction.lockUser(user.id)
            guard try await transaction.keep(user, version: snapshot.version) else { return nil }
            try await transaction.query(
                """
                WITH ended AS (
                    DELETE FROM sessions WHERE id IN (
                        SELECT id FROM sessions WHERE user_id = \(user.id)
                        ORDER BY rotated_at DESC, id OFFSET \(limit - 1))
                    RETURNING id, user_id, access_expires_at
                )
                \(revocationsOfEnded: .sessionLimit, lifetimes)
                """)
            let rows = try await transaction.query(
                """
                WITH created AS (
                    INSERT INTO sessions (
                        id, user_id, current_hash, created_at, rotated_at, expires_at, absolute_expires_at,
                        access_expires_at, device, ip_address)
                    SELECT
                        \(token.sessionID), \(user.id), \(token.hash), clock.now, clock.now,
                        clock.now + LEAST(\(lifetimes.idle), \(lifetimes.absolute)) * interval '1 second',
                        clock.now + \(lifetimes.absolute) * interval '1 second',
                        clock.now + \(lifetimes.access) * interval '1 second',
                        \(device.map(PostgresJSON.init)), \(ipAddress)
                    FROM (SELECT statement_timestamp() AS now) AS clock
                    RETURNING id, created_at, expires_at
                )
                SELECT created.created_at, created.expires_at, users.role, users.store_ids, users.email, users.profile
                FROM created, users WHERE users.id = \(user.id)
                """)
            let (now, expiresAt, role, storeIDs, email, profile) = try rows[0].decode(
                (Date, Date, String, [String], String?, String).self)
            return SessionGrant(
                sessionID: token.sessionID, now: now, expiresAt: expiresAt,
                user: UserRecord(id: user.id, role: role, storeIDs: storeIDs, email: email, profile: profile))
        }
    }

    /// The user's sessions that have not expired, the one used last first.
    func list(
        of userID: UUID, current: UUID?, deadline: ContinuousClock.Instant?
    ) async throws(PostgresError) -> [Session] {
        let rows = try await pool.query(
            """
            SELECT id, created_at, rotated_at, expires_at, device, ip_address FROM sessions
            WHERE user_id = \(userID) AND expires_at > statement_timestamp() ORDER BY rotated_at DESC, id
            """, deadline: deadline)
        return try rows.map { row throws(PostgresError) in
            let (id, createdAt, lastUsedAt, expiresAt, device, ipAddress) = try row.decode(
                (UUID, Date, Date, Date, PostgresJSON<SessionDevice>?, String?).self)
            return Session(
                id: id, current: id == current, createdAt: createdAt, lastUsedAt: lastUsedAt, expiresAt: expiresAt,
                device: device?.value, ipAddress: ipAddress)
        }
    }

    /// Takes a newer snapshot of a user who has sessions. An older one, or one of somebody unknown, changes nothing.
    func update(_ snapshot: UserSnapshot, deadline: ContinuousClock.Instant?) async throws {
        let user = try UserRecord(snapshot.user)
        try await pool.query(
            """
            UPDATE users SET version = \(snapshot.version), role = \(user.role), store_ids = \(user.storeIDs),
                email = \(user.email), profile = \(user.profile)
            WHERE id = \(user.id) AND version < \(snapshot.version)
            """, deadline: deadline)
    }
}

extension PostgresTransaction {
    /// Lets what makes and what ends a user's sessions run one after the other, until the transaction ends.
    func lockUser(_ id: UUID) async throws(PostgresError) {
        try await query("SELECT pg_advisory_xact_lock(hashtextextended(\(id)::text, 0))")
    }

    /// Keeps a user's snapshot if it is the newest.
    ///
    /// - Returns: `false` when the user was erased.
    fileprivate func keep(_ user: UserRecord, version: Int64) async throws(PostgresError) -> Bool {
        let rows = try await query(
            """
            WITH erasure AS (
                SELECT EXISTS (
                    SELECT FROM audit_events WHERE user_id = \(user.id) AND kind = 'userErased') AS took_place
            ), kept AS (
                INSERT INTO users AS present (id, version, role, store_ids, email, profile)
                SELECT \(user.id), \(version), \(user.role), \(user.storeIDs), \(user.email), \(user.profile)
                FROM erasure WHERE NOT took_place
                ON CONFLICT (id) DO UPDATE SET
                    version = excluded.version, role = excluded.role, store_ids = excluded.store_ids,
                    email = excluded.email, profile = excluded.profile
                WHERE present.version < excluded.version
            )
            SELECT NOT took_place FROM erasure
            """)
        return try rows.decode(Bool.self).first ?? false
    }
}
