import Foundation
import GatehouseBytes
import GatehouseServiceContracts
import IdentityCore
import Postgres

enum LinkOutcome: Sendable {
    case linked(Account)
    /// Another user has the Apple account, or this user has another one.
    case taken
    /// The nonce has been used before.
    case nonceSpent
    case noSuchUser
}

/// Apple accounts and the users they belong to (tables `credentials`, `apple_identities`).
struct AppleIdentityStore: Sendable {
    let database: PostgresPool

    /// - Returns: the account of the Apple subject, and the address that Apple gave last.
    func account(subject: String) async throws -> (account: Account, email: String?)? {
        let result = try await database.query(
            """
            SELECT \(unescaped: Account.columns), i.email AS apple_email
            FROM credentials i JOIN users u ON u.id = i.user_id \(unescaped: Account.joins)
            WHERE \(unescaped: Self.isApple) AND i.subject = \(subject)
            """)
        guard let row = result.first else { return nil }
        return (try Account(row), try row.decode("apple_email"))
    }

    /// The Apple account's part of the user's export.
    func identity(of userID: UUID) async throws -> AccountExport.Apple? {
        try await database.query(
            """
            SELECT i.subject, a.client_id, i.email, i.created_at, m.enabled, t.transfer_subject
            FROM credentials i JOIN apple_identities a ON a.credential_id = i.id
            LEFT JOIN mail_forwarding m ON m.user_id = i.user_id
            LEFT JOIN apple_transfers t ON t.credential_id = i.id
            WHERE i.user_id = \(userID) AND \(unescaped: Self.isApple)
            """
        ).first.map(AccountExport.Apple.init)
    }

    /// The users' Apple accounts, as in the lines of an export.
    func records(of users: [UUID]) async throws -> [UUID: UserRecord.Apple] {
        let rows = try await database.query(
            """
            SELECT i.user_id, i.subject, a.client_id, i.email
            FROM credentials i JOIN apple_identities a ON a.credential_id = i.id
            WHERE i.user_id = ANY(\(users)) AND \(unescaped: Self.isApple)
            """
        ).decode((UUID, String, String, String?).self)
        return Dictionary(rows.map { ($0, UserRecord.Apple(subject: $1, clientId: $2, email: $3)) }) { first, _ in first
        }
    }

    /// Whether the user has given consent at Apple after that time.
    func hasConsented(_ userID: UUID, since time: Date) async throws -> Bool {
        try await !database.query(
            """
            SELECT i.id FROM credentials i JOIN apple_identities a ON a.credential_id = i.id
            WHERE i.user_id = \(userID) AND \(unescaped: Self.isApple)
                AND coalesce(a.consented_at, i.created_at) > \(time)
            """
        ).isEmpty
    }

    /// Whether a credential `i` is an Apple account.
    static let isApple = "i.kind = '\(CredentialKindID.apple.rawValue)' AND i.provider = ''"

    /// Links the Apple account to the user, and uses the nonce up. Linking the same Apple account again changes
    /// nothing.
    func link(
        _ token: VerifiedAppleToken, to userID: UUID, using nonce: SingleUseNonce? = nil,
        notices: SecurityNotices? = nil
    ) async throws -> LinkOutcome {
        try await database.withRetriedTransaction { transaction in
            guard let user = try await AccountStore.lock(userID, on: transaction) else { return .noSuchUser }
            if let nonce {
                guard try await AppleNonceStore.spend(nonce, on: transaction) else { return .nonceSpent }
            }
            let existing = try await transaction.query(
                """
                SELECT subject, user_id FROM credentials i
                WHERE \(unescaped: Self.isApple) AND (subject = \(token.subject) OR user_id = \(userID))
                """
            ).decode((String, UUID).self)
            let isLinked = existing.contains { $0.isVerbatim(token.subject) && $1 == userID }
            if existing.isEmpty {
                guard try await Self.insert(token, for: userID, on: transaction) else { return .taken }
                // Sent before the address in Apple's token becomes verified, because the party that links reads mail at
                // that address.
                try await notices?.send(.appleLinked, toUser: userID, on: transaction)
                if let email = token.verifiedEmail {
                    try await Self.adopt(email, for: userID, on: transaction)
                }
                try await AccountStore.touch(user, credentials: true, on: transaction)
                try await AuditStore.record(.appleLinked, userID, by: .user, on: transaction)
            } else if !isLinked {
                return .taken
            }
            return try await AccountStore.account(userID, on: transaction).map(LinkOutcome.linked) ?? .noSuchUser
        }
    }

    /// The user's own address becomes verified. Another address is adopted only if the user has none.
    private static func adopt(
        _ email: Identifier, for userID: UUID, on transaction: PostgresTransaction
    ) async throws {
        let current = try await IdentifierStore.email(of: userID, on: transaction)
        guard current.map({ $0.isVerbatim(email.value) }) ?? true else { return }
        _ = try await IdentifierStore.claim(email, for: userID, isVerified: true, actor: .apple, on: transaction)
    }

    /// - Returns: whether no user had the Apple account, and the user had none.
    static func insert(
        _ token: VerifiedAppleToken, for userID: UUID, on transaction: PostgresTransaction
    ) async throws -> Bool {
        let credential = AppleCredential.new(token.subject, email: token.email?.value, of: userID)
        guard try await CredentialStore.insert([credential], on: transaction) else { return false }
        try await addDetails([(credential.id, token.clientID, token.issuedAt)], on: transaction)
        return true
    }

    /// - Parameter details: by the ids of their credentials.
    static func addDetails(
        _ details: [(credential: UUID, clientID: String, consentedAt: Date?)], on transaction: PostgresTransaction
    ) async throws {
        try await transaction.query(
            """
            INSERT INTO apple_identities (credential_id, client_id, consented_at)
            SELECT credential_id, client_id, to_timestamp(nullif(consented_at, 0))
            FROM unnest(
                \(details.map(\.credential)), \(details.map(\.clientID)),
                \(details.map { $0.consentedAt?.timeIntervalSince1970 ?? 0 })
            ) AS new (credential_id, client_id, consented_at)
            """)
    }
}

extension AccountExport.Apple {
    fileprivate init(_ row: PostgresRow) throws {
        self.init(
            subject: try row.decode("subject"), clientId: try row.decode("client_id"), email: try row.decode("email"),
            linkedAt: try row.decode("created_at"), mailForwarding: try row.decode("enabled"),
            transferSubject: try row.decode("transfer_subject"))
    }
}

extension AppleIdentityStore {
    /// The account of the Apple subject, updated from the token; created if there is none.
    /// - Parameter name: from Apple's dialog, as the app sent it; stored where the account has no name.
    func findOrCreateAccount(for token: VerifiedAppleToken, name: DisplayName?) async throws -> Account {
        // Two devices may create the same account at the same time. The second one fails, retries, and finds the first
        // one's.
        try await retryingConflicts {
            if let (account, email) = try await account(subject: token.subject) {
                // Order: credentials read, consent written, session created. A withdrawal notification then sees the
                // newer consent, or changes the credentials, and the session is revoked.
                try await note(consent: token, of: account.id)
                guard account.state == .active, hasNews(token, name: name, account: account, email: email) else {
                    return account
                }
                return try await update(account, from: token, name: name)
            }
            return try await makeAccount(for: token, name: name)
        }
    }

    private func hasNews(_ token: VerifiedAppleToken, name: DisplayName?, account: Account, email: String?) -> Bool {
        (name != nil && account.displayName == nil)
            || (token.email != nil && !Self.isVerbatim(token.email?.value, email))
            || (token.verifiedEmail != nil && !account.emailVerified)
    }

    private static func isVerbatim(_ one: String?, _ other: String?) -> Bool {
        one.map { VerbatimString($0) } == other.map { VerbatimString($0) }
    }

    /// Stores when the user last gave consent, so that a notification of an earlier withdrawal does not apply to this
    /// consent.
    private func note(consent token: VerifiedAppleToken, of userID: UUID) async throws {
        try await database.query(
            """
            UPDATE apple_identities a SET consented_at = \(token.issuedAt) FROM credentials i
            WHERE \(unescaped: Self.isApple) AND i.subject = \(token.subject) AND i.user_id = \(userID)
                AND a.credential_id = i.id AND coalesce(a.consented_at, '-infinity') < \(token.issuedAt)
            """)
    }

    /// - Returns: `nil` when another request has created an account for this Apple subject in between.
    private func makeAccount(for token: VerifiedAppleToken, name: DisplayName?) async throws -> Account? {
        let id = UUID()
        struct Exists: Error {}
        do {
            return try await database.withRetriedTransaction { transaction in
                try await AccountStore.create([NewUser(id: id, displayName: name?.value)], on: transaction)
                guard try await Self.insert(token, for: id, on: transaction) else { throw Exists() }
                if let email = token.verifiedEmail {
                    _ = try await IdentifierStore.claim(
                        email, for: id, isVerified: true, actor: .apple, isNewUser: true, on: transaction)
                }
                try await AuditStore.record(.registered, id, by: .apple, on: transaction)
                return try await AccountStore.account(id, on: transaction)
            }
        } catch is Exists {
            return nil
        }
    }

    /// - Returns: `nil` when the account or its link to Apple is gone.
    private func update(
        _ account: Account, from token: VerifiedAppleToken, name: DisplayName?
    ) async throws -> Account? {
        try await database.withRetriedTransaction { transaction in
            guard let user = try await AccountStore.lock(account.id, on: transaction) else { return nil }
            let former = try await transaction.query(
                """
                SELECT email FROM credentials i
                WHERE \(unescaped: Self.isApple) AND subject = \(token.subject) AND user_id = \(account.id)
                """
            ).first
            guard let former, let before = try await AccountStore.account(account.id, on: transaction) else {
                return nil
            }
            if let name {
                try await transaction.query(
                    "UPDATE users SET display_name = \(name.value) WHERE id = \(account.id) AND display_name IS NULL")
            }
            if let email = token.email {
                try await transaction.query(
                    """
                    UPDATE credentials i SET email = \(email.value)
                    WHERE \(unescaped: Self.isApple) AND subject = \(token.subject)
                    """)
            }
            if let email = token.verifiedEmail {
                try await Self.follow(email, from: try former.decode(String?.self), for: account.id, on: transaction)
            }
            // Apple sends an address that another user has verified with every sign-in. It never changes anything.
            let after = try await AccountStore.account(account.id, on: transaction)
            if after == before, Self.isVerbatim(after?.email, before.email) { return before }
            try await AccountStore.touch(user, credentials: false, on: transaction)
            return try await AccountStore.account(account.id, on: transaction)
        }
    }

    /// Adopts the address in Apple's token, unless the user's present address did not come from Apple.
    static func follow(
        _ email: Identifier, from former: String?, for userID: UUID, on transaction: PostgresTransaction
    ) async throws {
        let current = try await IdentifierStore.email(of: userID, on: transaction)
        var replaced: AccountIdentifier?
        if let current, !current.isVerbatim(email.value) {
            guard let former, current.isVerbatim(former) else { return }
            replaced = try await IdentifierStore.current(.email, of: userID, on: transaction)
            try await IdentifierStore.delete(.email, of: userID, on: transaction)
        }
        let isTheirs = try await IdentifierStore.claim(
            email, for: userID, isVerified: true, actor: .apple, on: transaction)
        // Another user has verified the new address. The user keeps the old one as it was.
        if !isTheirs, let replaced {
            try await IdentifierStore.putBack(replaced, of: userID, on: transaction)
        }
    }
}
