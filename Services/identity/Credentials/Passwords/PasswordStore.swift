package import Foundation
import GatehouseServiceContracts
package import IdentityCore
import Postgres

/// A user who is being registered.
package struct NewAccount: Sendable {
    var id = UUID()
    var identifier: Identifier
    /// Whether an operator vouches for the identifier. A user who registers has not verified it.
    var isVerified = false
    /// `nil` for a user who signs in by code, or sets a password later.
    var passwordHash: String?
    var displayName: DisplayName?
    var role = Role.user
    var stores = StoreList.none
    var actor = AuditActor.user

    package init(
        id: UUID = UUID(), identifier: Identifier, isVerified: Bool = false, passwordHash: String? = nil,
        displayName: DisplayName? = nil, role: Role = .user, stores: StoreList = .none, actor: AuditActor = .user
    ) {
        self.id = id
        self.identifier = identifier
        self.isVerified = isVerified
        self.passwordHash = passwordHash
        self.displayName = displayName
        self.role = role
        self.stores = stores
        self.actor = actor
    }
}

/// Password hashes (table `passwords`), and the accounts that use them.
package struct PasswordStore: Sendable {
    let database: PostgresPool

    /// Finds the hash of the users `u` of a statement.
    private static let joins = """
        \(Account.joins)
        LEFT JOIN credentials k ON k.user_id = u.id AND k.kind = '\(CredentialKindID.password.rawValue)'
        LEFT JOIN passwords w ON w.credential_id = k.id
        """

    func account(_ userID: UUID) async throws -> (account: Account, passwordHash: String?)? {
        let result = try await database.query(
            """
            SELECT \(unescaped: Account.columns), w.hash FROM users u \(unescaped: Self.joins)
            WHERE u.id = \(userID)
            """)
        guard let row = result.first else { return nil }
        return (try Account(row), try row.decode("hash"))
    }

    /// The account that the user signs in to with the identifier.
    func account(identifiedBy identifier: Identifier) async throws -> (account: Account, passwordHash: String?)? {
        let result = try await database.query(
            """
            SELECT \(unescaped: Account.columns), w.hash
            FROM identifiers i JOIN users u ON u.id = i.user_id \(unescaped: Self.joins)
            WHERE i.kind = \(identifier.kind.rawValue) AND i.value = \(identifier.value)
            """)
        guard let row = result.first else { return nil }
        return (try Account(row), try row.decode("hash"))
    }

    func changedAt(_ userID: UUID) async throws -> Date? {
        try await database.query(
            """
            SELECT w.changed_at FROM credentials k JOIN passwords w ON w.credential_id = k.id
            WHERE k.user_id = \(userID) AND k.kind = \(CredentialKindID.password.rawValue)
            """
        ).decode(Date.self).first
    }

    /// The users' hashes.
    func hashes(of users: [UUID]) async throws -> [UUID: String] {
        let rows = try await database.query(
            """
            SELECT k.user_id, w.hash FROM credentials k JOIN passwords w ON w.credential_id = k.id
            WHERE k.user_id = ANY(\(users)) AND k.kind = \(CredentialKindID.password.rawValue)
            """
        ).decode((UUID, String).self)
        return Dictionary(rows.map { ($0, $1) }) { first, _ in first }
    }

    /// Creates the account in one transaction.
    /// - Returns: `nil` when another user has the identifier and keeps it.
    package func register(_ new: NewAccount) async throws -> Account? {
        struct Taken: Error {}
        do {
            return try await database.withRetriedTransaction { transaction in
                let user = NewUser(
                    id: new.id, displayName: new.displayName?.value, role: new.role.name,
                    storeIDs: new.stores.ids.map(\.value))
                try await AccountStore.create([user], on: transaction)
                let isTheirs = try await IdentifierStore.claim(
                    new.identifier, for: new.id, isVerified: new.isVerified, actor: new.actor, isNewUser: true,
                    on: transaction)
                guard isTheirs else { throw Taken() }
                if let hash = new.passwordHash { try await Self.insert([(new.id, hash)], on: transaction) }
                try await AuditStore.record(.registered, new.id, by: new.actor, on: transaction)
                return try await AccountStore.account(new.id, on: transaction)
            }
        } catch is Taken {
            return nil
        }
    }

    /// Stores another hash of the same password. The user and clients see no change.
    func rehash(_ userID: UUID, from old: String, to new: String) async throws {
        try await database.query(
            """
            UPDATE passwords SET hash = \(new) FROM credentials k
            WHERE k.user_id = \(userID) AND k.kind = \(CredentialKindID.password.rawValue)
                AND credential_id = k.id AND hash = \(old)
            """)
    }

    /// Sets or replaces the password, and enqueues the task that ends all sessions but `session`.
    /// - Returns: that task; `nil` when the account's credentials have changed since it was read.
    func setPassword(
        of account: Account, to hash: String, sparing session: UUID?, actor: AuditActor = .user,
        notices: SecurityNotices? = nil
    ) async throws -> OutboxEntry? {
        try await database.withRetriedTransaction { transaction in
            guard let user = try await AccountStore.lock(account, on: transaction) else { return nil }
            return try await Self.replace(
                of: user, by: hash, sparing: session, event: .passwordChanged, actor: actor, notices: notices,
                on: transaction)
        }
    }

    /// Sets or replaces the user's password, forgets the devices on which the former password may have been used, and
    /// enqueues the task that ends all sessions but `session`.
    /// - Returns: that task; `nil` when there is no such user.
    static func replace(
        of user: LockedUser, by hash: String, sparing session: UUID?, event: AuditEvent, actor: AuditActor,
        notices: SecurityNotices?, on transaction: PostgresTransaction
    ) async throws -> OutboxEntry? {
        let replaced = try await transaction.query(
            """
            UPDATE passwords SET hash = \(hash), changed_at = now() FROM credentials k
            WHERE k.user_id = \(user.id) AND k.kind = \(CredentialKindID.password.rawValue) AND credential_id = k.id
            """)
        if replaced.affectedRows == 0 { try await insert([(user.id, hash)], on: transaction) }
        try await KnownDeviceStore.forget(devicesOf: user.id, on: transaction)
        guard let version = try await AccountStore.touch(user, credentials: true, on: transaction) else {
            return nil
        }
        try await notices?.send(.passwordChanged, toUser: user.id, on: transaction)
        try await AuditStore.record(event, user.id, by: actor, on: transaction)
        return try await OutboxStore.enqueue(
            .revokeSessions(reason: .passwordChanged, except: session, below: version), user: user.id, on: transaction)
    }

    /// Adds the passwords of users who have none.
    private static func insert(_ new: [(user: UUID, hash: String)], on transaction: PostgresTransaction) async throws {
        let credentials = new.map { PasswordCredential.new(of: $0.user) }
        guard try await CredentialStore.insert(credentials, on: transaction) else { throw StoreConflict() }
        try await addHashes(zip(credentials, new).map { ($0.id, $1.hash) }, on: transaction)
    }

    /// - Parameter hashes: by the ids of their credentials.
    static func addHashes(
        _ hashes: [(credential: UUID, hash: String)], on transaction: PostgresTransaction
    ) async throws {
        try await transaction.query(
            """
            INSERT INTO passwords (credential_id, hash)
            SELECT credential_id, hash
            FROM unnest(\(hashes.map(\.credential)), \(hashes.map(\.hash))) AS new (credential_id, hash)
            """)
    }
}
