import Bytes
import Contracts
import Foundation
import Postgres

enum LinkOutcome: Sendable {
    case linked(Account)
    /// Another user has the Apple account, or this user has another one.
    case taken
    /// The nonce has been used before.
    case nonceSpent
    case noSuchUser
}

/// Apple accounts and the users they belong to (table `apple_identities`).
struct AppleIdentityStore: Sendable {
    let database: PostgresPool

    /// - Returns: the account of the Apple subject, and the address that Apple gave last.
    func account(subject: String) async throws -> (account: Account, email: String?)? {
        let result = try await database.query(
            """
            SELECT \(unescaped: Account.columns), a.email AS apple_email
            FROM apple_identities i JOIN users u ON u.id = i.user_id \(unescaped: Account.joins)
            WHERE i.subject = \(subject)
            """)
        guard let row = result.first else { return nil }
        return (try Account(row), try row.decode("apple_email"))
    }

    /// The Apple account's part of the user's export.
    func identity(of userID: UUID) async throws -> AccountExport.Apple? {
        try await database.query(
            """
            SELECT i.subject, i.client_id, i.email, i.created_at, m.enabled, t.transfer_subject
            FROM apple_identities i
            LEFT JOIN apple_mail_forwarding m ON m.user_id = i.user_id
            LEFT JOIN apple_transfers t ON t.user_id = i.user_id
            WHERE i.user_id = \(userID)
            """
        ).first.map(AccountExport.Apple.init)
    }

    /// Whether the user has given consent at Apple after that time.
    func hasConsented(_ userID: UUID, since time: Date) async throws -> Bool {
        try await !database.query(
            """
            SELECT subject FROM apple_identities
            WHERE user_id = \(userID) AND coalesce(consented_at, created_at) > \(time)
            """
        ).isEmpty
    }

    /// Links the Apple account to the user, and uses the nonce up. Linking the same Apple account again changes
    /// nothing.
    func link(
        _ token: VerifiedAppleToken, to userID: UUID, using nonce: SingleUseNonce? = nil, notices: AccountNotices? = nil
    ) async throws -> LinkOutcome {
        try await database.withRetriedTransaction { transaction in
            guard let user = try await AccountStore.lock(userID, on: transaction) else { return .noSuchUser }
            if let nonce {
                guard try await AppleNonceStore.spend(nonce, on: transaction) else { return .nonceSpent }
            }
            let existing = try await transaction.query(
                """
                SELECT subject, user_id FROM apple_identities
                WHERE subject = \(token.subject) OR user_id = \(userID)
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

    /// - Returns: whether no user had the Apple account.
    static func insert(
        _ token: VerifiedAppleToken, for userID: UUID, on transaction: PostgresTransaction
    ) async throws -> Bool {
        try await transaction.query(
            """
            INSERT INTO apple_identities (subject, user_id, client_id, email, consented_at)
            VALUES (\(token.subject), \(userID), \(token.clientID), \(token.email?.value), \(token.issuedAt))
            ON CONFLICT (subject) DO NOTHING
            """
        ).affectedRows == 1
    }

    /// Removes the user's Apple account, and any pending task that would exchange a code for it.
    static func remove(of userID: UUID, on transaction: PostgresTransaction) async throws {
        try await transaction.query("DELETE FROM outbox WHERE user_id = \(userID) AND kind = 'exchange_code'")
        try await transaction.query("DELETE FROM apple_transfers WHERE user_id = \(userID)")
        try await transaction.query("DELETE FROM apple_identities WHERE user_id = \(userID)")
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
        for _ in 0..<3 {
            if let (account, email) = try await account(subject: token.subject) {
                // Order: credentials read, consent written, session created. A withdrawal notification then sees the
                // newer consent, or changes the credentials, and the session is revoked.
                try await note(consent: token, of: account.id)
                guard account.state == .active, hasNews(token, name: name, account: account, email: email) else {
                    return account
                }
                if let updated = try await update(account, from: token, name: name) {
                    return updated
                }
            } else if let account = try await makeAccount(for: token, name: name) {
                return account
            }
        }
        throw StoreConflict()
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
            UPDATE apple_identities SET consented_at = \(token.issuedAt)
            WHERE subject = \(token.subject) AND user_id = \(userID)
                AND coalesce(consented_at, '-infinity') < \(token.issuedAt)
            """)
    }

    /// - Returns: `nil` when another request has created an account for this Apple subject in between.
    private func makeAccount(for token: VerifiedAppleToken, name: DisplayName?) async throws -> Account? {
        let id = UUID()
        struct Exists: Error {}
        do {
            return try await database.withRetriedTransaction { transaction in
                try await transaction.query("INSERT INTO users (id, display_name) VALUES (\(id), \(name?.value))")
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
                "SELECT email FROM apple_identities WHERE subject = \(token.subject) AND user_id = \(account.id)"
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
                    "UPDATE apple_identities SET email = \(email.value) WHERE subject = \(token.subject)")
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
