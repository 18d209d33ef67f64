import Foundation
import IdentityCore
import Postgres

/// Tokens for setting a new password (table `password_resets`).
struct PasswordResetStore: Sendable {
    let database: PostgresPool

    /// Whether a message to the identifier `i` may open the account of the user `u`.
    ///
    /// An unverified identifier opens the account only while a password is the account's only credential. Otherwise an
    /// attacker could register another person's address and add a credential or a second identifier of their own. When
    /// the address's owner resets the password later, the attacker would share the account with them.
    private static let isOpenedByItsIdentifier = """
        u.state = 'active' AND (
            i.verified OR (
                NOT EXISTS (
                    SELECT FROM credentials c
                    WHERE c.user_id = u.id AND c.kind <> '\(CredentialKindID.password.rawValue)')
                AND NOT EXISTS (SELECT FROM identifiers o WHERE o.user_id = u.id AND o.kind <> i.kind)))
        """

    /// Stores a token for the reader of the identifier's messages.
    /// - Returns: the account; `nil` when the identifier opens none.
    func start(of identifier: Identifier, token: SingleUseToken, expiresAt: Date) async throws -> Account? {
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
                INSERT INTO password_resets (digest, user_id, credentials_version, kind, value, expires_at)
                SELECT \(token.digest), id, credentials_version, \(kind), \(identifier.value), \(expiresAt)
                FROM users WHERE id = \(owner)
                """)
            return try await AccountStore.account(owner, on: transaction)
        }
    }

    /// - Parameter digest: the digest of a token, ``SingleUseToken/digest(of:)``.
    func knows(_ digest: [UInt8]) async throws -> Bool {
        try await Self.user(of: digest, on: database) != nil
    }

    /// Uses up the token, and sets the password, which voids the user's other tokens. Receiving the token verifies the
    /// identifier, if it still belongs to the user and still opens the account.
    /// - Returns: the task in the outbox that ends all sessions; `nil` when the token is invalid.
    func use(_ digest: [UInt8], passwordHash: String, notices: SecurityNotices? = nil) async throws -> OutboxEntry? {
        try await database.withRetriedTransaction { transaction in
            // The second time after a change in progress: it may have voided the token.
            guard let holder = try await Self.user(of: digest, on: transaction),
                let user = try await AccountStore.lock(holder, on: transaction),
                try await Self.user(of: digest, on: transaction) == holder
            else { return nil }
            let used = try await transaction.query(
                "DELETE FROM password_resets WHERE digest = \(digest) AND user_id = \(user.id) RETURNING kind, value"
            ).first?.decode((String, String).self)
            guard let (kind, value) = used else { return nil }
            let verified = try await transaction.query(
                """
                UPDATE identifiers i SET verified = true FROM users u
                WHERE i.kind = \(kind) AND i.value = \(value) AND i.user_id = \(user.id) AND u.id = i.user_id
                    AND \(unescaped: Self.isOpenedByItsIdentifier)
                """)
            guard verified.affectedRows == 1 else { return nil }
            return try await PasswordStore.replace(
                of: user, by: passwordHash, sparing: nil, event: .passwordReset, actor: .user, notices: notices,
                on: transaction)
        }
    }

    /// The user of a valid token. A change of the user's credentials voids the tokens that were sent before.
    private static func user(of digest: [UInt8], on database: some PostgresQuerying) async throws -> UUID? {
        try await database.query(
            """
            SELECT user_id FROM password_resets r JOIN users u ON u.id = r.user_id
            WHERE digest = \(digest) AND expires_at > now() AND u.credentials_version = r.credentials_version
            """
        ).first?.decode(UUID.self)
    }
}

extension PasswordResetStore {
    static let expiredRows = [ExpiredRows(table: "password_resets", key: "digest", condition: "expires_at < now()")]
}

extension SingleUseToken.Purpose {
    /// Setting a new password.
    static let passwordReset = Self(prefix: "ghpr_", lifetime: 1800)
}
