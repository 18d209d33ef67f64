import Contracts
import Foundation
import Postgres

/// The sessions in PostgreSQL. A write that depends on what was read repeats it in the WHERE clause, so that it does
/// nothing when the row has changed since.
struct SessionStore: Sendable {
    let pool: PostgresPool
    let lifetimes: Lifetimes

    /// Seconds.
    struct Lifetimes: Sendable, Equatable {
        var access: TimeInterval = 3600
        var idle: TimeInterval = 2_592_000
        var absolute: TimeInterval = 31_536_000
    }

    /// Creates a session. If the user then has more than `limit`, the least recently used ones end.
    ///
    /// - Parameter arrivedAt: when the request came. The sign-in is older than the request says by the time since then.
    /// - Throws: ``SessionRefusal``
    func create(
        _ token: RefreshToken, for request: CreateSessionRequest, arrivedAt: ContinuousClock.Instant, limit: Int,
        deadline: ContinuousClock.Instant?
    ) async throws -> SessionGrant {
        let user = try UserRecord(request.snapshot.user)
        let methods = request.authenticationMethods?.map(\.rawValue) ?? []
        return try await pool.withTransaction(deadline: deadline) { transaction in
            let admittedAt = try await transaction.lockUser(user.id)
            // PostgreSQL's clock was read before this one: a wait in between makes the sign-in look older, never
            // younger.
            let age = request.signInAge + (ContinuousClock.now - arrivedAt) / .seconds(1)
            let rows = try await transaction.commit(
                after: """
                    WITH refusal AS (
                        SELECT CASE
                            WHEN EXISTS (SELECT FROM audit_events WHERE user_id = \(user.id) AND kind = 'userErased')
                                THEN \(SessionRefusal.userErased.rawValue)
                            WHEN EXISTS (
                                SELECT FROM users
                                WHERE id = \(user.id) AND signed_out_at >= \(admittedAt.addingTimeInterval(-age)))
                                THEN \(SessionRefusal.signedOut.rawValue)
                            WHEN EXISTS (SELECT FROM sessions WHERE id = \(token.sessionID))
                                THEN \(SessionRefusal.idTaken.rawValue)
                        END AS reason
                    ), kept AS (
                        INSERT INTO users (id, version, role, store_ids, email, profile)
                        SELECT \(user.id), \(request.snapshot.version), \(user.role), \(user.storeIDs),
                            \(user.email), \(user.profile)
                        FROM refusal WHERE reason IS NULL
                        ON CONFLICT (id) DO UPDATE SET
                            version = excluded.version, role = excluded.role, store_ids = excluded.store_ids,
                            email = excluded.email, profile = excluded.profile
                        WHERE users.version < excluded.version
                        RETURNING id
                    ), ended AS (
                        DELETE FROM sessions WHERE id IN (
                            SELECT id FROM sessions, refusal WHERE user_id = \(user.id) AND reason IS NULL
                            ORDER BY rotated_at DESC, id OFFSET \(limit - 1))
                        RETURNING id, user_id, access_expires_at
                    ), told AS (
                        \(revocationsOfEnded: .sessionLimit, lifetimes)
                    ), created AS (
                        INSERT INTO sessions (
                            id, user_id, credentials_version, current_hash, created_at, rotated_at, expires_at,
                            absolute_expires_at, access_expires_at, device, ip_address, authenticated_at,
                            authentication_methods)
                        SELECT
                            \(token.sessionID), \(user.id), \(request.credentialsVersion), \(token.hash),
                            clock.now, clock.now,
                            clock.now + LEAST(\(lifetimes.idle), \(lifetimes.absolute)) * interval '1 second',
                            clock.now + \(lifetimes.absolute) * interval '1 second',
                            clock.now + \(lifetimes.access) * interval '1 second',
                            \(request.device.map(PostgresJSON.init)), \(request.ipAddress), clock.now, \(methods)
                        FROM (SELECT statement_timestamp() AS now) AS clock, refusal WHERE reason IS NULL
                        ON CONFLICT (id) DO NOTHING
                        RETURNING created_at, expires_at
                    )
                    SELECT reason, created_at, expires_at, kept.id IS NOT NULL, \(unescaped: UserRecord.columns)
                    FROM refusal LEFT JOIN created ON true LEFT JOIN kept ON true
                    LEFT JOIN users ON users.id = \(user.id)
                    """)
            let row = rows[0]
            if let reason = try row.decode(String?.self, column: 0).flatMap(SessionRefusal.init) { throw reason }
            guard let now = try row.decode(Date?.self, column: 1) else { throw SessionRefusal.idTaken }
            return SessionGrant(
                sessionID: token.sessionID, now: now, expiresAt: try row.decode(Date.self, column: 2),
                authentication: SessionAuthentication(time: now, methods: methods),
                user: try row.decode(Bool.self, column: 3) ? user : UserRecord(id: user.id, row: row, from: 4))
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

    /// Stores a newer snapshot of a user. One that is older, or of a user who has no sessions here, changes nothing.
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
    /// Locks a user until the transaction ends: sessions of one user are created and ended by one transaction at a
    /// time.
    ///
    /// - Returns: PostgreSQL's clock once the lock was acquired.
    @discardableResult
    func lockUser(_ id: UUID) async throws(PostgresError) -> Date {
        try await query(
            """
            WITH locked AS MATERIALIZED (SELECT pg_advisory_xact_lock(hashtextextended(\(id)::text, 0)))
            SELECT clock_timestamp() FROM locked
            """)[0].decode(Date.self)
    }
}
