package import Foundation
import GatehouseServiceContracts
package import Postgres

/// Users, in PostgreSQL (table `users`). Every function is one statement or one short transaction.
///
/// In this and every other store, a transaction locks the user's row before it writes anything and before it locks any
/// row that belongs to the user. Exceptions: a transaction that creates the user, and one that locks a single row. Two
/// transactions therefore never wait for each other, and each change of a user adds its audit entries after those of
/// the change before it, which gives the feed of events its order. No transaction waits for the row of a further user
/// (``lockAnother(_:on:)``). Functions that need the lock and do not take it themselves demand it as a ``LockedUser``
/// where they change `users`.
package struct AccountStore: Sendable {
    let database: PostgresPool

    package func account(_ id: UUID) async throws -> Account? {
        try await Self.account(id, on: database)
    }

    package func exists(_ id: UUID) async throws -> Bool {
        try await !database.query("SELECT id FROM users WHERE id = \(id)").isEmpty
    }

    /// Accounts from the oldest to the newest: those after `last` in that order, or from the first.
    package func list(after last: Account?, limit: Int) async throws -> [Account] {
        try await database.query(
            """
            SELECT \(unescaped: Account.columns) FROM users u \(unescaped: Account.joins)
            WHERE \(last?.id) IS NULL OR (u.created_at, u.id) > (\(last?.createdAt), \(last?.id))
            ORDER BY u.created_at, u.id LIMIT \(limit)
            """
        ).map(Account.init)
    }

    /// The user's current role; `nil` where the account is gone or disabled.
    package func roleOfActive(_ id: UUID) async throws -> String? {
        try await database.query("SELECT role FROM users WHERE id = \(id) AND state = 'active'")
            .first?.decode(String.self)
    }

    /// Changes the fields of the user that other users and services see.
    /// - Returns: `nil` when there is no such user.
    package func change(_ userID: UUID, to change: AccountChange, actor: AuditActor) async throws -> Account? {
        try await database.withRetriedTransaction { transaction in
            guard let user = try await Self.lock(userID, on: transaction) else { return nil }
            var events: [AuditEvent] = []
            if let name = change.displayName {
                let renamed = try await transaction.query(
                    """
                    UPDATE users SET display_name = \(name?.value)
                    WHERE id = \(userID) AND display_name IS DISTINCT FROM \(name?.value)
                    """)
                if renamed.affectedRows == 1 { events.append(.profileChanged) }
            }
            let (role, stores) = (change.role?.name, change.stores?.ids.map(\.value))
            if role != nil || stores != nil {
                let changed = try await transaction.query(
                    """
                    UPDATE users SET role = coalesce(\(role), role), store_ids = coalesce(\(stores), store_ids)
                    WHERE id = \(userID)
                        AND (role <> coalesce(\(role), role) OR store_ids <> coalesce(\(stores), store_ids))
                    """)
                if changed.affectedRows == 1 { events.append(.roleChanged) }
            }
            if !events.isEmpty { try await Self.touch(user, credentials: false, on: transaction) }
            let account = try await Self.account(userID, on: transaction)
            for event in events {
                try await AuditStore.record(
                    event, userID, by: actor, detail: event == .roleChanged ? account?.role : nil, on: transaction)
            }
            return account
        }
    }

    /// - Parameter name: `nil` removes the name.
    /// - Returns: `nil` when there is no such user.
    package func rename(_ userID: UUID, to name: DisplayName?) async throws -> Account? {
        try await change(userID, to: AccountChange(displayName: .some(name)), actor: .user)
    }

    /// Enables or disables the account. Disabling ends its sessions.
    /// - Returns: `nil` when there is no such user.
    package func setState(_ state: AccountState, of userID: UUID, actor: AuditActor) async throws -> Account? {
        try await database.withRetriedTransaction { transaction in
            guard let user = try await Self.lock(userID, on: transaction) else { return nil }
            try await Self.setState(state, of: user, actor: actor, on: transaction)
            return try await Self.account(userID, on: transaction)
        }
    }

    package static func setState(
        _ state: AccountState, of user: LockedUser, actor: AuditActor, detail: String? = nil,
        on transaction: PostgresTransaction
    ) async throws {
        let updated = try await transaction.query(
            "UPDATE users SET state = \(state.rawValue) WHERE id = \(user.id) AND state <> \(state.rawValue)")
        guard updated.affectedRows == 1, let version = try await touch(user, credentials: true, on: transaction)
        else { return }
        try await AuditStore.record(
            state == .disabled ? .disabled : .enabled, user.id, by: actor, detail: detail, on: transaction)
        if state == .disabled {
            try await OutboxStore.enqueue(
                .revokeSessions(reason: .accountDisabled, except: nil, below: version), user: user.id,
                dueAtOnce: true, on: transaction)
        }
    }

    /// Removes the user's role and stores. The caller increments the version (``touch``).
    package static func removeRights(of user: LockedUser, on transaction: PostgresTransaction) async throws {
        let role = Role.user.name
        let removed = try await transaction.query(
            """
            UPDATE users SET role = \(role), store_ids = '{}'
            WHERE id = \(user.id) AND (role <> \(role) OR store_ids <> '{}')
            """)
        guard removed.affectedRows == 1 else { return }
        try await AuditStore.record(.roleChanged, user.id, by: .system, detail: role, on: transaction)
    }

    /// Ends the user's sessions. Sign-ins in progress have to verify the user again.
    /// - Returns: whether there is such a user.
    package func endSessions(of userID: UUID, actor: AuditActor) async throws -> Bool {
        try await database.withRetriedTransaction { transaction in
            guard let user = try await Self.lock(userID, on: transaction),
                let version = try await Self.touch(user, credentials: true, on: transaction)
            else { return false }
            try await AuditStore.record(.sessionsEnded, userID, by: actor, on: transaction)
            try await OutboxStore.enqueue(
                .revokeSessions(reason: .administrator, except: nil, below: version), user: userID, dueAtOnce: true,
                on: transaction)
            return true
        }
    }

    /// Ends one session on behalf of an operator. The audit entry and the task are committed together.
    /// - Returns: `false` when there is no such user.
    package func endSession(_ session: UUID, of userID: UUID) async throws -> Bool {
        try await database.withRetriedTransaction { transaction in
            guard try await Self.lock(userID, on: transaction) != nil else { return false }
            try await AuditStore.record(.sessionEnded, userID, by: .operator, session: session, on: transaction)
            try await OutboxStore.enqueue(
                .endSession(session: session), user: userID, dueAtOnce: true, on: transaction)
            return true
        }
    }
}

/// A user to be created.
package struct NewUser: Sendable, Codable {
    var id = UUID()
    var displayName: String?
    var role = Role.user.name
    var storeIDs: [String] = []
    var state = AccountState.active
    /// Seconds since 1970; `nil`: now.
    var createdAt: Double?

    package init(
        id: UUID = UUID(), displayName: String? = nil, role: String = Role.user.name, storeIDs: [String] = [],
        state: AccountState = .active, createdAt: Double? = nil
    ) {
        self.id = id
        self.displayName = displayName
        self.role = role
        self.storeIDs = storeIDs
        self.state = state
        self.createdAt = createdAt
    }

    /// The names of the columns.
    private enum CodingKeys: String, CodingKey {
        case id, role, state
        case displayName = "display_name"
        case storeIDs = "store_ids"
        case createdAt = "created_at"
    }
}

/// A user whose row the transaction has locked, until it ends.
package struct LockedUser: Sendable {
    package let id: UUID

    /// Only the locking queries create it.
    fileprivate init(id: UUID) {
        self.id = id
    }
}

/// Operations on a user within the transactions of other stores.
extension AccountStore {
    package static func account(_ id: UUID, on database: some PostgresQuerying) async throws -> Account? {
        try await database.query(
            "SELECT \(unescaped: Account.columns) FROM users u \(unescaped: Account.joins) WHERE u.id = \(id)"
        ).first.map(Account.init)
    }

    /// Creates users. Their identifiers and credentials follow in the same transaction.
    package static func create(_ users: [NewUser], on transaction: PostgresTransaction) async throws {
        try await transaction.query(
            """
            INSERT INTO users (id, display_name, role, store_ids, state, created_at)
            SELECT id, display_name, role, store_ids, state, coalesce(to_timestamp(created_at), now())
            FROM jsonb_to_recordset(\(PostgresJSON(users))) AS new (
                id uuid, display_name text, role text, store_ids text[], state text, created_at double precision)
            """)
    }

    /// Locks the user's row until the transaction ends. The transaction must not have written or locked anything
    /// before: PostgreSQL then assigns its number after the wait.
    /// - Returns: `nil` when there is no such user.
    package static func lock(_ userID: UUID, on transaction: PostgresTransaction) async throws -> LockedUser? {
        let rows = try await transaction.query("SELECT id FROM users WHERE id = \(userID) FOR UPDATE")
        return rows.isEmpty ? nil : LockedUser(id: userID)
    }

    /// Locks the row of a further user, without waiting for it: its holder may be waiting for a row of this
    /// transaction.
    /// - Returns: `nil` when there is no such user.
    /// - Throws: ``UserIsContended``, for `withRetriedTransaction`.
    package static func lockAnother(_ userID: UUID, on transaction: PostgresTransaction) async throws -> LockedUser? {
        let locked = try await transaction.query("SELECT id FROM users WHERE id = \(userID) FOR UPDATE SKIP LOCKED")
        if locked.isEmpty {
            guard try await transaction.query("SELECT id FROM users WHERE id = \(userID)").isEmpty else {
                throw UserIsContended(userID: userID)
            }
            return nil
        }
        return LockedUser(id: userID)
    }

    /// Locks the user's row until the transaction ends.
    /// - Returns: `nil` when the account's credentials are no longer those that were read.
    package static func lock(_ account: Account, on transaction: PostgresTransaction) async throws -> LockedUser? {
        let version = try await transaction.query(
            "SELECT credentials_version FROM users WHERE id = \(account.id) FOR UPDATE"
        ).first?.decode(Int64.self)
        return version == account.credentialsVersion ? LockedUser(id: account.id) : nil
    }

    /// Increments the user's version and enqueues the task that sends tokens the new snapshot.
    /// - Parameter credentials: whether sign-ins in progress have to verify the user again. Password reset tokens that
    ///   were sent before are no longer valid.
    /// - Returns: the current version of the user's credentials; `nil` when there is no such user.
    @discardableResult
    package static func touch(
        _ user: LockedUser, credentials: Bool, on transaction: PostgresTransaction
    ) async throws -> Int64? {
        let version = try await transaction.query(
            """
            UPDATE users SET version = version + 1, updated_at = now(),
                credentials_version = credentials_version + \(credentials ? 1 : 0)
            WHERE id = \(user.id)
            RETURNING credentials_version
            """
        ).first?.decode(Int64.self)
        guard let version else { return nil }
        try await OutboxStore.enqueueSnapshot(of: user.id, on: transaction)
        return version
    }
}

extension Account {
    /// The columns of an account, over the users `u` of a statement and ``joins``. The address that a provider told
    /// stands in for one of the user's own, unless another user signs in with it.
    package static let columns = """
        u.id,
        coalesce(
            e.value,
            CASE WHEN NOT EXISTS (SELECT FROM identifiers o WHERE o.kind = 'email' AND o.value = c.email)
                THEN c.email END
        ) AS email, coalesce(e.verified, false) AS email_verified, p.value AS phone,
        coalesce(p.verified, false) AS phone_verified, u.display_name, u.role, u.store_ids, u.state,
        e.value IS NOT NULL OR p.value IS NOT NULL AS has_identifier, coalesce(c.names, '{}') AS credentials,
        u.version, u.credentials_version, u.created_at, u.updated_at,
        ARRAY(SELECT l.kind FROM lost_identifiers l WHERE l.user_id = u.id ORDER BY l.kind) AS lost_identifiers,
        ARRAY(
            SELECT 'email'::text WHERE e.verified AND EXISTS (
                SELECT FROM lost_identifiers l WHERE l.kind = 'email' AND l.value = e.value AND l.user_id <> u.id)
            UNION ALL SELECT 'phone'::text WHERE p.verified AND EXISTS (
                SELECT FROM lost_identifiers l WHERE l.kind = 'phone' AND l.value = p.value AND l.user_id <> u.id)
        ) AS mergeable_identifiers
        """

    package static let joins = """
        LEFT JOIN identifiers e ON e.user_id = u.id AND e.kind = 'email'
        LEFT JOIN identifiers p ON p.user_id = u.id AND p.kind = 'phone'
        LEFT JOIN LATERAL (
            SELECT array_agg(k.kind || ':' || k.provider) AS names,
                (array_agg(k.email ORDER BY k.created_at, k.id) FILTER (WHERE k.email IS NOT NULL))[1] AS email
            FROM credentials k WHERE k.user_id = u.id) c ON true
        """

    package init(_ row: PostgresRow) throws {
        id = try row.decode("id")
        email = try row.decode("email")
        emailVerified = try row.decode("email_verified")
        phone = try row.decode("phone")
        phoneVerified = try row.decode("phone_verified")
        displayName = try row.decode("display_name")
        role = try row.decode("role")
        storeIDs = try row.decode("store_ids")
        state = try AccountState.read(row.decode("state"))
        hasIdentifier = try row.decode("has_identifier")
        credentials = Set(try row.decode("credentials", as: [String].self).map(CredentialName.init(stored:)))
        version = try row.decode("version")
        credentialsVersion = try row.decode("credentials_version")
        createdAt = try row.decode("created_at")
        updatedAt = try row.decode("updated_at")
        lostIdentifiers = try row.decode("lost_identifiers")
        mergeableIdentifiers = try row.decode("mergeable_identifiers")
    }
}

extension AccountState {
    struct Unknown: Error {}

    static func read(_ text: String) throws(Unknown) -> AccountState {
        guard let state = AccountState(rawValue: text) else { throw Unknown() }
        return state
    }
}
