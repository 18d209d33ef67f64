import Contracts
import Foundation
import Postgres

/// The sessions in PostgreSQL. A write that depends on a read repeats the read values in its WHERE clause, so that it
/// does nothing when the row has changed since.
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
    /// - Parameter arrivedAt: when the request arrived. The time since then adds to the sign-in's age in the request.
    /// - Throws: ``SessionRefusal``
    func create(
        _ token: RefreshToken, for request: CreateSessionRequest, arrivedAt: ContinuousClock.Instant, limit: Int
    ) async throws -> SessionGrant {
        let user = try UserRecord(request.snapshot.user)
        let methods = request.authenticationMethods?.map(\.rawValue) ?? []
        return try await pool.withTransaction { transaction in
            let admittedAt = try await transaction.lockUser(user.id)
            // PostgreSQL's clock was read before this one, so a wait in between can only add to the sign-in's age.
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
                    SELECT reason, created_at, expires_at, kept.id IS NOT NULL AS is_kept,
                        \(unescaped: UserRecord.columns)
                    FROM refusal LEFT JOIN created ON true LEFT JOIN kept ON true
                    LEFT JOIN users ON users.id = \(user.id)
                    """)
            let row = rows[0]
            if let reason = try row.decode("reason", as: String?.self).flatMap(SessionRefusal.init) { throw reason }
            guard let now = try row.decode("created_at", as: Date?.self) else { throw SessionRefusal.idTaken }
            return SessionGrant(
                sessionID: token.sessionID, now: now, expiresAt: try row.decode("expires_at"),
                authentication: SessionAuthentication(time: now, methods: methods),
                user: try row.decode("is_kept") ? user : UserRecord(row))
        }
    }

    /// The user's sessions that have not expired, the most recently used first.
    func list(of userID: UUID, current: UUID?) async throws(PostgresError) -> [Session] {
        let rows = try await pool.query(
            """
            SELECT id, created_at, rotated_at, expires_at, device, ip_address FROM sessions
            WHERE user_id = \(userID) AND expires_at > statement_timestamp() ORDER BY rotated_at DESC, id
            """)
        return try rows.map { row throws(PostgresError) in try Session(row, current: current) }
    }

    /// Stores a newer snapshot of a user. An older snapshot, or one of a user without sessions, changes nothing.
    func update(_ snapshot: UserSnapshot) async throws {
        let user = try UserRecord(snapshot.user)
        try await pool.query(
            """
            UPDATE users SET version = \(snapshot.version), role = \(user.role), store_ids = \(user.storeIDs),
                email = \(user.email), profile = \(user.profile)
            WHERE id = \(user.id) AND version < \(snapshot.version)
            """)
    }
}

extension PostgresTransaction {
    /// Locks a user until the transaction ends, so that only one transaction at a time creates or ends sessions of the
    /// user.
    ///
    /// - Returns: PostgreSQL's clock after the lock was acquired.
    @discardableResult
    func lockUser(_ id: UUID) async throws(PostgresError) -> Date {
        try await query(
            """
            WITH locked AS MATERIALIZED (SELECT pg_advisory_xact_lock(hashtextextended(\(id)::text, 0)))
            SELECT clock_timestamp() FROM locked
            """)[0].decode(Date.self)
    }
}

/// When and how the user of a session last authenticated.
struct SessionAuthentication: Sendable, Equatable {
    /// By PostgreSQL's clock.
    var time: Date
    /// As in the claim `amr`; empty if unknown.
    var methods: [String]
}

extension Session {
    fileprivate init(_ row: PostgresRow, current: UUID?) throws(PostgresError) {
        let id: UUID = try row.decode("id")
        self.init(
            id: id, current: id == current, createdAt: try row.decode("created_at"),
            lastUsedAt: try row.decode("rotated_at"), expiresAt: try row.decode("expires_at"),
            device: try row.decode("device", as: PostgresJSON<SessionDevice>?.self)?.value,
            ipAddress: try row.decode("ip_address"))
    }
}

extension SessionAuthentication {
    /// The columns of `session`. In a session without `authenticated_at`, the user authenticated at its creation.
    static let columns = """
        COALESCE(session.authenticated_at, session.created_at) AS authenticated_at, session.authentication_methods
        """

    fileprivate init(_ row: PostgresRow) throws(PostgresError) {
        self.init(time: try row.decode("authenticated_at"), methods: try row.decode("authentication_methods"))
    }
}

/// The data for a response with tokens: the session's expiry and last authentication, its user, and PostgreSQL's clock
/// in the same statement.
struct SessionGrant: Sendable, Equatable {
    var sessionID: UUID
    var now: Date
    /// The earlier of idle and absolute expiry.
    var expiresAt: Date
    var authentication: SessionAuthentication
    var user: UserRecord
}

extension SessionGrant {
    /// - Parameter row: `now`, `expires_at`, and the columns of the authentication and of the user.
    fileprivate init(_ sessionID: UUID, _ row: PostgresRow) throws(PostgresError) {
        self.init(
            sessionID: sessionID, now: try row.decode("now"), expiresAt: try row.decode("expires_at"),
            authentication: try SessionAuthentication(row), user: try UserRecord(row))
    }
}

/// A stored session with its user, and PostgreSQL's clock in the same statement.
struct SessionRecord: Sendable {
    var state: SessionState
    /// The current token, sealed so that only its predecessor opens it; `nil` before the first rotation.
    var sealedCurrent: [UInt8]?
    var grant: SessionGrant
}

extension SessionRecord {
    fileprivate init(_ id: UUID, _ row: PostgresRow) throws(PostgresError) {
        self.init(
            state: try SessionState(row), sealedCurrent: try row.decode("sealed_current"),
            grant: try SessionGrant(id, row))
    }
}

extension SessionState {
    fileprivate init(_ row: PostgresRow) throws(PostgresError) {
        self.init(
            generation: try row.decode("generation"), currentHash: try row.decode("current_hash"),
            previousHash: try row.decode("previous_hash"), rotatedAt: try row.decode("rotated_at"),
            lateReplays: try row.decode("late_replays"), lateReplayed: try row.decode("late_replayed"),
            expiresAt: try row.decode("expires_at"), absoluteExpiresAt: try row.decode("absolute_expires_at"))
    }
}

/// A stored user: the claims of access tokens, and the whole user as JSON for responses.
struct UserRecord: Sendable, Equatable {
    var id: UUID
    var role: String
    var storeIDs: [String]
    var email: String?
    /// Whether the user's address is verified.
    var isEmailVerified: Bool
    /// The contract's `User` as JSON, which clients receive unchanged.
    var profile: String
}

extension UserRecord {
    /// The columns of `users`. The profile says whether the address is verified; no column does.
    static let columns = """
        users.id AS user_id, users.role, users.store_ids, users.email,
        users.email IS NOT NULL AND COALESCE((users.profile::json ->> 'emailVerified')::boolean, false)
            AS is_email_verified,
        users.profile
        """

    fileprivate init(_ row: PostgresRow) throws(PostgresError) {
        self.init(
            id: try row.decode("user_id"), role: try row.decode("role"), storeIDs: try row.decode("store_ids"),
            email: try row.decode("email"), isEmailVerified: try row.decode("is_email_verified"),
            profile: try row.decode("profile"))
    }

    init(_ user: User) throws {
        self.init(
            id: user.id, role: user.role, storeIDs: user.storeIds, email: user.email,
            isEmailVerified: user.email != nil && user.emailVerified,
            profile: String(decoding: try JSON.encode(user), as: UTF8.self))
    }
}

extension SessionStore {
    /// Records that the user of a live session has authenticated now.
    ///
    /// Access tokens that were issued before keep the earlier time. The next refresh issues a token with the new one.
    ///
    /// - Returns: `false` when the user has no such session.
    func renewAuthentication(
        of id: UUID, userID: UUID, by methods: [AuthenticationMethod]
    ) async throws(PostgresError) -> Bool {
        let result = try await pool.query(
            """
            UPDATE sessions SET authenticated_at = statement_timestamp(),
                authentication_methods = \(methods.map(\.rawValue))
            WHERE id = \(id) AND user_id = \(userID) AND expires_at > statement_timestamp()
            """)
        return result.affectedRows == 1
    }
}

extension SessionStore {
    /// Rotates in one statement. Its WHERE clause alone decides whether `presented` is the current token.
    ///
    /// - Returns: `nil` when `presented` is not the current token of a session that has not expired.
    func rotate(
        _ presented: RefreshToken, to successor: RefreshToken, sealed: [UInt8], ipAddress: String?
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
            RETURNING session.rotated_at AS now, session.expires_at, \(unescaped: SessionAuthentication.columns),
                \(unescaped: UserRecord.columns)
            """)
        return try rows.first.map { row throws(PostgresError) in try SessionGrant(presented.sessionID, row) }
    }

    /// Reads a session with its user.
    ///
    /// - Returns: `nil` when no such session exists.
    func read(_ id: UUID) async throws(PostgresError) -> SessionRecord? {
        let rows = try await pool.query(
            """
            SELECT statement_timestamp() AS now, session.generation, session.current_hash, session.previous_hash,
                session.sealed_current, session.rotated_at, session.late_replays, session.late_replayed,
                session.expires_at, session.absolute_expires_at, \(unescaped: SessionAuthentication.columns),
                \(unescaped: UserRecord.columns)
            FROM sessions AS session JOIN users ON users.id = session.user_id WHERE session.id = \(id)
            """)
        return try rows.first.map { row throws(PostgresError) in try SessionRecord(id, row) }
    }

    /// Counts a late replay of the current token's predecessor, once for each generation.
    ///
    /// - Returns: `false` when the row has changed since it was read.
    func countLateReplay(of id: UUID, generation: Int32) async throws(PostgresError) -> Bool {
        let result = try await pool.query(
            """
            UPDATE sessions SET late_replays = late_replays + 1, late_replayed = true
            WHERE id = \(id) AND generation = \(generation) AND NOT late_replayed
            """)
        return result.affectedRows == 1
    }
}
