import Foundation
import GatehouseServiceContracts
import Postgres
import ServiceKitPostgres

/// The sessions in PostgreSQL. Each operation is an SQL function (`SQL/sessions.sql`) that touches one
/// ``Bucket`` alone. A write that depends on a read repeats the read values in its WHERE clause, so that it does
/// nothing when the row has changed since.
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
        let user = try StoredUser(request.snapshot.user)
        let methods = request.authenticationMethods?.map(\.rawValue) ?? []
        let clock = try await database.query("SELECT bucket_clock(\(user.bucket))")[0].decode(Date.self)
        // PostgreSQL's clock was read before this one, so a wait in between can only add to the sign-in's age.
        let age = request.signInAge + (ContinuousClock.now - arrivedAt) / .seconds(1)
        let row = try await database.query(
            """
            SELECT refusal, has_ended, created_at, expires_at, stored_role, stored_store_ids, stored_email,
                stored_is_email_verified, stored_profile
            FROM create_session(
                \(user.bucket), \(token.sessionID), \(user.id), \(request.snapshot.version), \(user.role),
                \(user.storeIDs), \(user.email), \(user.isEmailVerified), \(user.profile),
                \(request.credentialsVersion), \(token.hash), \(request.device.map(PostgresJSON.init)),
                \(request.ipAddress), \(methods), \(clock.addingTimeInterval(-age)), \(limit),
                \(lifetimes.idle), \(lifetimes.absolute), \(lifetimes.access))
            """)[0]
        if let reason = try row.decode("refusal", as: String?.self).flatMap(SessionRefusal.init) { throw reason }
        if try row.decode("has_ended") { didRevoke() }
        let now: Date = try row.decode("created_at")
        return SessionGrant(
            sessionID: token.sessionID, now: now, expiresAt: try row.decode("expires_at"),
            authentication: SessionAuthentication(time: now, methods: methods),
            user: StoredUser(
                id: user.id, role: try row.decode("stored_role"), storeIDs: try row.decode("stored_store_ids"),
                email: try row.decode("stored_email"),
                isEmailVerified: try row.decode("stored_is_email_verified"),
                profile: try row.decode("stored_profile")))
    }

    /// The user's sessions that have not expired, the most recently used first.
    func list(of userID: UUID, current: UUID?) async throws(PostgresError) -> [Session] {
        let rows = try await database.query(
            """
            SELECT id, created_at, rotated_at, expires_at, device, ip_address
            FROM list_sessions(\(Bucket(user: userID)), \(userID))
            """)
        return try rows.map { row throws(PostgresError) in try Session(row, current: current) }
    }

    /// Those of `ids` whose sessions have not ended, and when they will unless they are used before.
    func live(_ ids: [UUID]) async throws(PostgresError) -> [(id: UUID, expiresAt: Date)] {
        try await database.query(
            """
            SELECT live.id, live.expires_at FROM (
                SELECT bucket, array_agg(id) AS ids
                FROM unnest(\(ids.map { Bucket(session: $0).rawValue }), \(ids)) AS asked (bucket, id) GROUP BY bucket
            ) AS asked, live_sessions(asked.bucket, asked.ids) AS live
            """
        ).decode((UUID, Date).self).map { (id: $0, expiresAt: $1) }
    }

    /// Stores a newer snapshot of a user. An older snapshot, or one of a user without sessions, changes nothing.
    func update(_ snapshot: UserSnapshot) async throws {
        let user = try StoredUser(snapshot.user)
        try await database.query(
            """
            SELECT update_user(
                \(user.bucket), \(user.id), \(snapshot.version), \(user.role), \(user.storeIDs), \(user.email),
                \(user.isEmailVerified), \(user.profile))
            """)
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
    var user: StoredUser
}

extension SessionGrant {
    /// The members of the type `session_grant`.
    fileprivate static let columns = """
        now, expires_at, authenticated_at, authentication_methods, user_id, role, store_ids, email, is_email_verified,
        profile
        """

    fileprivate init(_ sessionID: UUID, _ row: PostgresRow) throws(PostgresError) {
        self.init(
            sessionID: sessionID, now: try row.decode("now"), expiresAt: try row.decode("expires_at"),
            authentication: try SessionAuthentication(row), user: try StoredUser(row))
    }
}

/// A stored session with its user, and PostgreSQL's clock in the same statement.
struct SessionRecord: Sendable {
    var state: RotationState
    /// The current token, sealed so that only its predecessor opens it; `nil` before the first rotation.
    var sealedCurrent: [UInt8]?
    var grant: SessionGrant
}

extension SessionRecord {
    fileprivate init(_ id: UUID, _ row: PostgresRow) throws(PostgresError) {
        self.init(
            state: try RotationState(row), sealedCurrent: try row.decode("sealed_current"),
            grant: try SessionGrant(id, row))
    }
}

extension RotationState {
    fileprivate init(_ row: PostgresRow) throws(PostgresError) {
        self.init(
            generation: try row.decode("generation"), currentHash: try row.decode("current_hash"),
            previousHash: try row.decode("previous_hash"), rotatedAt: try row.decode("rotated_at"),
            lateReplays: try row.decode("late_replays"), lateReplayed: try row.decode("late_replayed"),
            expiresAt: try row.decode("expires_at"), absoluteExpiresAt: try row.decode("absolute_expires_at"))
    }
}

/// A stored user: the claims of access tokens, and the whole user as JSON for responses.
struct StoredUser: Sendable, Equatable {
    var id: UUID
    var role: String
    var storeIDs: [String]
    var email: String?
    /// Whether the user's address is verified.
    var isEmailVerified: Bool
    /// The contract's `User` as JSON, which clients receive unchanged.
    var profile: String
}

extension StoredUser {
    var bucket: Bucket { Bucket(user: id) }

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
        try await database.query(
            """
            SELECT renew_authentication(
                \(Bucket(session: id)), \(id), \(userID), \(methods.map(\.rawValue)))
            """)[0].decode(Bool.self)
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
            SELECT \(unescaped: SessionGrant.columns) FROM rotate_session(
                \(Bucket(session: presented.sessionID)), \(presented.sessionID), \(presented.generation),
                \(presented.hash), \(successor.hash), \(sealed), \(ipAddress), \(lifetimes.idle),
                \(lifetimes.access))
            """)
        guard try rows[0].decode("now", as: Date?.self) != nil else { return nil }
        return try SessionGrant(presented.sessionID, rows[0])
    }

    /// Reads a session with its user.
    ///
    /// - Returns: `nil` when no such session exists.
    func read(_ id: UUID) async throws(PostgresError) -> SessionRecord? {
        let rows = try await database.query(
            """
            SELECT generation, current_hash, previous_hash, sealed_current, rotated_at, late_replays, late_replayed,
                absolute_expires_at, \(unescaped: SessionGrant.columns)
            FROM read_session(\(Bucket(session: id)), \(id))
            """)
        guard try rows[0].decode("now", as: Date?.self) != nil else { return nil }
        return try SessionRecord(id, rows[0])
    }

    /// Counts a late replay of the current token's predecessor, once for each generation.
    ///
    /// - Returns: `false` when the row has changed since it was read.
    func countLateReplay(of id: UUID, generation: Int32) async throws(PostgresError) -> Bool {
        try await database.query(
            "SELECT count_late_replay(\(Bucket(session: id)), \(id), \(generation))")[0].decode(Bool.self)
    }
}

/// Ending a session deletes its row and, in the same transaction, adds an entry to the revocation feed.
extension SessionStore {
    /// Ends one session; with `userID`, only if the session is that user's.
    ///
    /// - Returns: `false` when no such session exists.
    @discardableResult
    func revoke(_ id: UUID, of userID: UUID? = nil, reason: RevocationReason) async throws(PostgresError) -> Bool {
        try await end(id, of: userID, reason: reason)
    }

    /// Ends one session if `hash` is the hash of its current token or of the predecessor.
    ///
    /// - Returns: `false` when no session matches.
    @discardableResult
    func revoke(_ id: UUID, holding hash: [UInt8], reason: RevocationReason) async throws(PostgresError) -> Bool {
        try await end(id, holding: hash, reason: reason)
    }

    /// Ends a session whose refresh token two holders have used, and adds a security event.
    ///
    /// - Returns: `false` when the session has been rotated since it was read.
    func revokeStolen(
        _ id: UUID, generation: Int32, theft: RotationDecision.Theft
    ) async throws(PostgresError) -> Bool {
        try await end(id, at: generation, reason: .replay, theft: theft)
    }

    private func end(
        _ id: UUID, of userID: UUID? = nil, at generation: Int32? = nil, holding hash: [UInt8]? = nil,
        reason: RevocationReason, theft: RotationDecision.Theft? = nil
    ) async throws(PostgresError) -> Bool {
        let hasEnded = try await database.query(
            """
            SELECT revoke_session(
                \(Bucket(session: id)), \(id), \(userID), \(generation), \(hash), \(reason.rawValue),
                \(theft?.rawValue), \(lifetimes.access))
            """)[0].decode(Bool.self)
        if hasEnded { didRevoke() }
        return hasEnded
    }

    /// Ends all sessions of a user except `spared`; with `credentialsVersion`, only those whose sign-in was verified
    /// against older credentials. If the account was deleted, removes the user too, who can then have no session again.
    func revokeAll(
        of userID: UUID, except spared: UUID? = nil, below credentialsVersion: Int64? = nil, reason: RevocationReason
    ) async throws(PostgresError) {
        try await endAll(of: userID, except: spared, below: credentialsVersion, reason: reason, signsOut: false)
    }

    /// Ends all sessions of a user except `spared`. A sign-in in progress gets no session either.
    func signOut(_ userID: UUID, except spared: UUID?) async throws(PostgresError) {
        try await endAll(of: userID, except: spared, reason: .logout, signsOut: true)
    }

    private func endAll(
        of userID: UUID, except spared: UUID?, below credentialsVersion: Int64? = nil, reason: RevocationReason,
        signsOut: Bool
    ) async throws(PostgresError) {
        try await database.query(
            """
            SELECT revoke_sessions(
                \(Bucket(user: userID)), \(userID), \(spared), \(credentialsVersion), \(reason.rawValue),
                \(signsOut), \(lifetimes.access))
            """)
        didRevoke()
    }

    /// Seconds for which the service remembers that a user signed out everywhere: longer than any sign-in takes.
    static let signOutMemory: TimeInterval = 600
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
                SELECT bucket, id, user_id, access_expires_at FROM sessions
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
            INSERT INTO pending_revocations (bucket, session_id, user_id, access_expires_at, reason)
            SELECT bucket, id, user_id, GREATEST(access_expires_at, statement_timestamp() +
            """)
        appendLiteral(" ")
        appendInterpolation(lifetimes.access)
        appendLiteral(" * interval '1 second'), ")
        appendInterpolation(reason.rawValue)
        appendLiteral(" FROM ended")
    }
}
