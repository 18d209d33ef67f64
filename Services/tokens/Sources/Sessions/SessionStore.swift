import Contracts
import Foundation
import Postgres

/// The sessions in PostgreSQL. A write that depends on a read repeats the read values in its WHERE clause, so that it
/// does nothing when the row has changed since.
struct SessionStore: Sendable {
    let database: PostgresPool
    let lifetimes: Lifetimes
    /// Called after the commit of a transaction that added entries to the revocation feed.
    var didRevoke: @Sendable () -> Void = {}

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
        let (grant, hasEnded) = try await database.withTransaction { transaction in
            let admittedAt = try await Self.lockUser(user.id, on: transaction)
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
                    ), stored AS (
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
                    ), entries AS (
                        \(revocationsOfEnded: .sessionLimit, lifetimes)
                    ), created AS (
                        INSERT INTO sessions (
                            id, user_id, credentials_version, current_hash, created_at, rotated_at, expires_at,
                            absolute_expires_at, access_expires_at, device, ip_address, authenticated_at,
                            authentication_methods, expiry_day)
                        SELECT
                            \(token.sessionID), \(user.id), \(request.credentialsVersion), \(token.hash),
                            clock.now, clock.now,
                            clock.now + LEAST(\(lifetimes.idle), \(lifetimes.absolute)) * interval '1 second',
                            clock.now + \(lifetimes.absolute) * interval '1 second',
                            clock.now + \(lifetimes.access) * interval '1 second',
                            \(request.device.map(PostgresJSON.init)), \(request.ipAddress), clock.now, \(methods),
                            ((clock.now + LEAST(\(lifetimes.idle), \(lifetimes.absolute)) * interval '1 second')
                                AT TIME ZONE 'UTC')::date
                        FROM (SELECT statement_timestamp() AS now) AS clock, refusal WHERE reason IS NULL
                        ON CONFLICT (id) DO NOTHING
                        RETURNING created_at, expires_at
                    )
                    SELECT reason, created_at, expires_at, stored.id IS NOT NULL AS is_stored,
                        EXISTS (SELECT FROM ended) AS has_ended, \(unescaped: UserRecord.columns)
                    FROM refusal LEFT JOIN created ON true LEFT JOIN stored ON true
                    LEFT JOIN users ON users.id = \(user.id)
                    """)
            let row = rows[0]
            if let reason = try row.decode("reason", as: String?.self).flatMap(SessionRefusal.init) { throw reason }
            guard let now = try row.decode("created_at", as: Date?.self) else { throw SessionRefusal.idTaken }
            // A statement does not see its own writes: if it stored the snapshot, the row still has the former one.
            let grant = SessionGrant(
                sessionID: token.sessionID, now: now, expiresAt: try row.decode("expires_at"),
                authentication: SessionAuthentication(time: now, methods: methods),
                user: try row.decode("is_stored") ? user : UserRecord(row))
            return (grant, try row.decode("has_ended", as: Bool.self))
        }
        if hasEnded { didRevoke() }
        return grant
    }

    /// The user's sessions that have not expired, the most recently used first.
    func list(of userID: UUID, current: UUID?) async throws(PostgresError) -> [Session] {
        let rows = try await database.query(
            """
            SELECT id, created_at, rotated_at, expires_at, device, ip_address FROM sessions
            WHERE user_id = \(userID) AND expires_at > statement_timestamp() ORDER BY rotated_at DESC, id
            """)
        return try rows.map { row throws(PostgresError) in try Session(row, current: current) }
    }

    /// Those of `ids` whose sessions have not ended.
    func live(_ ids: [UUID]) async throws(PostgresError) -> [UUID] {
        try await database.query(
            "SELECT id FROM sessions WHERE id = ANY (\(ids)) AND expires_at > statement_timestamp()"
        ).decode(UUID.self)
    }

    /// Stores a newer snapshot of a user. An older snapshot, or one of a user without sessions, changes nothing.
    func update(_ snapshot: UserSnapshot) async throws {
        let user = try UserRecord(snapshot.user)
        try await database.query(
            """
            UPDATE users SET version = \(snapshot.version), role = \(user.role), store_ids = \(user.storeIDs),
                email = \(user.email), profile = \(user.profile)
            WHERE id = \(user.id) AND version < \(snapshot.version)
            """)
    }

    /// Locks a user until the transaction ends, so that only one transaction at a time creates or ends sessions of the
    /// user.
    ///
    /// - Returns: PostgreSQL's clock after the lock was acquired.
    @discardableResult
    static func lockUser(_ id: UUID, on transaction: PostgresTransaction) async throws(PostgresError) -> Date {
        try await transaction.query(
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
        let result = try await database.query(
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
        let rows = try await database.query(
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
                ip_address = COALESCE(\(ipAddress), session.ip_address),
                -- Changes only where the idle lifetime was lowered since the sign-in.
                expiry_day = LEAST(session.expiry_day, (
                    (statement_timestamp() + \(lifetimes.idle) * interval '1 second') AT TIME ZONE 'UTC')::date)
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
        let rows = try await database.query(
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
        let result = try await database.query(
            """
            UPDATE sessions SET late_replays = late_replays + 1, late_replayed = true
            WHERE id = \(id) AND generation = \(generation) AND NOT late_replayed
            """)
        return result.affectedRows == 1
    }
}

/// Ending a session deletes its row and, in the same statement, adds an entry to the revocation feed.
extension SessionStore {
    /// Ends one session; with `userID`, only if the session is that user's.
    ///
    /// - Returns: `false` when no such session exists.
    @discardableResult
    func revoke(_ id: UUID, of userID: UUID? = nil, reason: RevocationReason) async throws(PostgresError) -> Bool {
        let result = try await database.query(
            """
            WITH ended AS (
                DELETE FROM sessions WHERE id = \(id) AND (\(userID) IS NULL OR user_id = \(userID))
                RETURNING id, user_id, access_expires_at
            )
            \(revocationsOfEnded: reason, lifetimes)
            """)
        return ended(result)
    }

    /// Ends one session if `hash` is the hash of its current token or of the predecessor.
    ///
    /// - Returns: `false` when no session matches.
    @discardableResult
    func revoke(_ id: UUID, holding hash: [UInt8], reason: RevocationReason) async throws(PostgresError) -> Bool {
        let result = try await database.query(
            """
            WITH ended AS (
                DELETE FROM sessions WHERE id = \(id) AND (current_hash = \(hash) OR previous_hash = \(hash))
                RETURNING id, user_id, access_expires_at
            )
            \(revocationsOfEnded: reason, lifetimes)
            """)
        return ended(result)
    }

    /// Ends a session whose refresh token two holders have used, and adds an audit event.
    ///
    /// - Returns: `false` when the session has been rotated since it was read.
    func revokeStolen(
        _ id: UUID, generation: Int32, theft: RotationDecision.Theft
    ) async throws(PostgresError) -> Bool {
        let result = try await database.query(
            """
            WITH ended AS (
                DELETE FROM sessions WHERE id = \(id) AND generation = \(generation)
                RETURNING id, user_id, access_expires_at
            ), event AS (
                INSERT INTO audit_events (kind, user_id, session_id)
                SELECT \("theft." + theft.rawValue), user_id, id FROM ended
            )
            \(revocationsOfEnded: .replay, lifetimes)
            """)
        return ended(result)
    }

    /// Whether the statement ended a session.
    private func ended(_ result: PostgresResult) -> Bool {
        guard result.affectedRows == 1 else { return false }
        didRevoke()
        return true
    }

    /// Ends all sessions of a user except `spared`; with `credentialsVersion`, only those whose sign-in was verified
    /// against older credentials. If the account was deleted, removes the user too, who can then have no session again.
    func revokeAll(
        of userID: UUID, except spared: UUID? = nil, below credentialsVersion: Int64? = nil, reason: RevocationReason
    ) async throws {
        try await database.withTransaction { transaction in
            try await Self.lockUser(userID, on: transaction)
            try await endSessions(
                of: userID, except: spared, below: credentialsVersion, reason: reason, on: transaction)
            guard reason == .accountDeleted else { return }
            try await transaction.query("DELETE FROM users WHERE id = \(userID)")
            try await transaction.query("INSERT INTO audit_events (kind, user_id) VALUES ('userErased', \(userID))")
        }
        didRevoke()
    }

    /// Seconds for which the service remembers that a user signed out everywhere: longer than any sign-in takes.
    static let signOutMemory: TimeInterval = 600

    /// Ends all sessions of a user except `spared`. A sign-in in progress gets no session either.
    func signOut(_ userID: UUID, except spared: UUID?) async throws {
        try await database.withTransaction { transaction in
            try await Self.lockUser(userID, on: transaction)
            try await endSessions(of: userID, except: spared, reason: .logout, on: transaction)
            try await transaction.query(
                "UPDATE users SET signed_out_at = statement_timestamp() WHERE id = \(userID)")
        }
        didRevoke()
    }

    /// Ends the sessions of a user. The caller has called ``lockUser(_:on:)``.
    private func endSessions(
        of userID: UUID, except spared: UUID?, below credentialsVersion: Int64? = nil, reason: RevocationReason,
        on transaction: PostgresTransaction
    ) async throws(PostgresError) {
        try await transaction.query(
            """
            WITH ended AS (
                DELETE FROM sessions
                WHERE user_id = \(userID) AND id IS DISTINCT FROM \(spared)
                    AND (\(credentialsVersion) IS NULL OR credentials_version < \(credentialsVersion))
                RETURNING id, user_id, access_expires_at
            )
            \(revocationsOfEnded: reason, lifetimes)
            """)
    }
}

/// The sessions of a restored database (``Restoration``).
extension SessionStore {
    static func count(on transaction: PostgresTransaction) async throws -> Int {
        try await transaction.query("SELECT count(*) FROM sessions")[0].decode(Int.self)
    }

    /// Ends every session. Adds an entry to the feed only for sessions whose access tokens may still be valid.
    /// Otherwise gateways would have to remember millions of sessions whose access tokens have long expired.
    ///
    /// The access token of a repeated answer may outlive `access_expires_at`: after a late replay by any time,
    /// otherwise by the retry window and the duration of a request, which is shorter than an access lifetime. Access
    /// tokens of rotations that the copy lacks are refused because of the new signing key (docs/operations/backup.md).
    static func endAll(
        _ lifetimes: Lifetimes, retryWindow: TimeInterval, on transaction: PostgresTransaction
    ) async throws {
        let excess = retryWindow + lifetimes.access
        try await transaction.query("LOCK TABLE sessions, users IN ACCESS EXCLUSIVE MODE")
        try await transaction.query(
            """
            WITH ended AS (
                SELECT id, user_id, access_expires_at FROM sessions
                WHERE late_replayed OR access_expires_at > statement_timestamp() - \(excess) * interval '1 second'
            )
            \(revocationsOfEnded: .administrator, lifetimes)
            """)
        try await transaction.query("DELETE FROM sessions")
        try await transaction.query("DELETE FROM users")
    }
}

extension PostgresQuery.Interpolation {
    /// Adds entries to the feed for the sessions that `ended`, the statement's common table expression, deleted.
    ///
    /// The access token of a repeated answer may outlive `access_expires_at`, but not a whole lifetime from now.
    mutating func appendInterpolation(
        revocationsOfEnded reason: RevocationReason, _ lifetimes: SessionStore.Lifetimes
    ) {
        appendLiteral(
            """
            INSERT INTO pending_revocations (session_id, user_id, access_expires_at, reason)
            SELECT id, user_id, GREATEST(access_expires_at, statement_timestamp() +
            """)
        appendLiteral(" ")
        appendInterpolation(lifetimes.access)
        appendLiteral(" * interval '1 second'), ")
        appendInterpolation(reason.rawValue)
        appendLiteral(" FROM ended")
    }
}
