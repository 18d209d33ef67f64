import Foundation
import Postgres

/// Tokens for setting a new password (table `password_resets`).
struct PasswordResetStore: Sendable {
    let database: PostgresPool

    /// Whether a message to the identifier `i` may open the account of the user `u`.
    ///
    /// An identifier that nobody has proved opens the account only while nothing but a password does. Otherwise a
    /// stranger could register somebody else's address, keep an Apple account or a second identifier as a way in of
    /// their own, and share the account with the address's owner, who resets the password later.
    private static let isOpenedByItsIdentifier = """
        u.state = 'active' AND (
            i.verified OR (
                NOT EXISTS (SELECT FROM apple_identities a WHERE a.user_id = u.id)
                AND NOT EXISTS (SELECT FROM identifiers o WHERE o.user_id = u.id AND o.kind <> i.kind)))
        """

    /// Keeps a token for whoever reads what is sent to the identifier.
    /// - Returns: the account; `nil` when the identifier opens none.
    func start(of identifier: Identifier, token: ResetToken, expiresAt: Date) async throws -> Account? {
        try await database.withRetriedTransaction { transaction in
            let kind = identifier.kind.rawValue
            let owner = try await transaction.query(
                """
                SELECT i.user_id FROM identifiers i JOIN users u ON u.id = i.user_id
                WHERE i.kind = \(kind) AND i.value = \(identifier.value)
                    AND \(unescaped: Self.isOpenedByItsIdentifier)
                """
            ).first?.decode(UUID.self)
            guard let owner else { return nil }
            try await transaction.query(
                """
                INSERT INTO password_resets (digest, user_id, kind, value, expires_at)
                VALUES (\(token.digest), \(owner), \(kind), \(identifier.value), \(expiresAt))
                """)
            return try await AccountStore.account(owner, on: transaction)
        }
    }

    /// - Parameter digest: of a token, ``ResetToken/digest(_:)``.
    func knows(_ digest: [UInt8], deadline: ContinuousClock.Instant) async throws -> Bool {
        try await !database.query(
            "SELECT user_id FROM password_resets WHERE digest = \(digest) AND expires_at > now()", deadline: deadline
        ).isEmpty
    }

    /// Uses the token up, together with all others of the user, and sets the password. Whoever has received the token
    /// has proved the identifier, if it still is the user's and still opens the account.
    /// - Returns: the task in the outbox that ends all sessions; `nil` when the token does not count.
    func use(
        _ digest: [UInt8], passwordHash: String, notices: AccountNotices? = nil, deadline: ContinuousClock.Instant
    ) async throws -> OutboxEntry? {
        try await database.withRetriedTransaction(deadline: deadline) { transaction in
            let holder = try await transaction.query(
                "SELECT user_id FROM password_resets WHERE digest = \(digest) AND expires_at > now()"
            ).first?.decode(UUID.self)
            guard let userID = holder, try await AccountStore.lock(userID, on: transaction) else { return nil }
            let used = try await transaction.query(
                "DELETE FROM password_resets WHERE digest = \(digest) AND user_id = \(userID) RETURNING kind, value"
            ).first?.decode((String, String).self)
            guard let (kind, value) = used else { return nil }
            let proved = try await transaction.query(
                """
                UPDATE identifiers i SET verified = true FROM users u
                WHERE i.kind = \(kind) AND i.value = \(value) AND i.user_id = \(userID) AND u.id = i.user_id
                    AND \(unescaped: Self.isOpenedByItsIdentifier)
                """)
            guard proved.affectedRows == 1 else { return nil }
            return try await PasswordStore.replace(
                of: userID, by: passwordHash, sparing: nil, event: .passwordReset, actor: .user, notices: notices,
                on: transaction)
        }
    }

    static func removeAll(of userID: UUID, on transaction: PostgresTransaction) async throws {
        try await transaction.query("DELETE FROM password_resets WHERE user_id = \(userID)")
    }
}
