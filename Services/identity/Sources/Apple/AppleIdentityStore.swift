import Bytes
import Contracts
import Foundation
import Postgres

enum LinkOutcome: Sendable {
    case linked(Account)
    /// Another user has the Apple account, or this user has another one.
    case taken
    /// The proof's nonce has been used before.
    case nonceSpent
    case noSuchUser
}

/// Apple accounts, and whose they are (table `apple_identities`).
struct AppleIdentityStore: Sendable {
    let database: PostgresPool

    /// - Returns: the account of Apple's user, and the address that Apple gave last.
    func account(
        subject: String, deadline: ContinuousClock.Instant
    ) async throws -> (account: Account, email: String?)? {
        let result = try await database.query(
            """
            SELECT \(unescaped: Account.columns), a.email
            FROM apple_identities i JOIN users u ON u.id = i.user_id \(unescaped: Account.joins)
            WHERE i.subject = \(subject)
            """, deadline: deadline)
        guard let row = result.first else { return nil }
        return (try Account(row: row), try row.decode(column: Account.columnCount))
    }

    /// What the user's export says of the Apple account.
    func identity(of userID: UUID, deadline: ContinuousClock.Instant) async throws -> AccountExport.Apple? {
        try await database.query(
            """
            SELECT i.subject, i.client_id, i.email, i.created_at, m.enabled, t.transfer_subject
            FROM apple_identities i
            LEFT JOIN apple_mail_forwarding m ON m.user_id = i.user_id
            LEFT JOIN apple_transfers t ON t.user_id = i.user_id
            WHERE i.user_id = \(userID)
            """, deadline: deadline
        ).decode((String, String, String?, Date, Bool?, String?).self).first.map {
            AccountExport.Apple(
                subject: $0, clientId: $1, email: $2, linkedAt: $3, mailForwarding: $4, transferSubject: $5)
        }
    }

    /// Whether the user has given consent at Apple after that time.
    func hasConsented(
        _ userID: UUID, since time: Date, deadline: ContinuousClock.Instant
    ) async throws -> Bool {
        try await !database.query(
            """
            SELECT subject FROM apple_identities
            WHERE user_id = \(userID) AND coalesce(consented_at, created_at) > \(time)
            """, deadline: deadline
        ).isEmpty
    }

    /// Links the Apple account to the user, and uses the nonce up. Linking the same one again changes nothing.
    func link(
        _ proof: AppleProof, to userID: UUID, using nonce: NonceUse? = nil, notices: AccountNotices? = nil,
        deadline: ContinuousClock.Instant
    ) async throws -> LinkOutcome {
        try await database.withRetriedTransaction(deadline: deadline) { transaction in
            guard try await AccountStore.lock(userID, on: transaction) else { return .noSuchUser }
            if let nonce {
                guard try await NonceStore.use(nonce, on: transaction) else { return .nonceSpent }
            }
            let existing = try await transaction.query(
                """
                SELECT subject, user_id FROM apple_identities
                WHERE subject = \(proof.subject) OR user_id = \(userID)
                """
            ).decode((String, UUID).self)
            let isLinked = existing.contains { $0.isVerbatim(proof.subject) && $1 == userID }
            if existing.isEmpty {
                guard try await Self.insert(proof, for: userID, on: transaction) else { return .taken }
                // Before the address in Apple's token becomes verified: whoever links reads there.
                try await notices?.send(.appleLinked, toUser: userID, on: transaction)
                if let email = proof.provenEmail {
                    try await Self.adopt(email, for: userID, on: transaction)
                }
                try await AccountStore.touch(userID, credentials: true, on: transaction)
                try await AuditLog.record(.appleLinked, userID, by: .user, on: transaction)
            } else if !isLinked {
                return .taken
            }
            return try await AccountStore.account(userID, on: transaction).map(LinkOutcome.linked) ?? .noSuchUser
        }
    }

    /// The user's own address becomes verified. Another address is taken only by a user who has none.
    private static func adopt(
        _ email: Identifier, for userID: UUID, on transaction: PostgresTransaction
    ) async throws {
        let current = try await IdentifierStore.email(of: userID, on: transaction)
        guard current.map({ $0.isVerbatim(email.value) }) ?? true else { return }
        _ = try await IdentifierStore.claim(email, for: userID, proves: true, actor: .apple, on: transaction)
    }

    /// - Returns: whether nobody had the Apple account.
    static func insert(_ proof: AppleProof, for userID: UUID, on transaction: PostgresTransaction) async throws -> Bool
    {
        try await transaction.query(
            """
            INSERT INTO apple_identities (subject, user_id, client_id, email, consented_at)
            VALUES (\(proof.subject), \(userID), \(proof.clientID), \(proof.email?.value), \(proof.issuedAt))
            ON CONFLICT (subject) DO NOTHING
            """
        ).affectedRows == 1
    }

    /// Removes the user's Apple account, and the task that would still exchange a code for it.
    static func remove(of userID: UUID, on transaction: PostgresTransaction) async throws {
        try await transaction.query("DELETE FROM outbox WHERE user_id = \(userID) AND kind = 'exchange_code'")
        try await transaction.query("DELETE FROM apple_transfers WHERE user_id = \(userID)")
        try await transaction.query("DELETE FROM apple_identities WHERE user_id = \(userID)")
    }
}
