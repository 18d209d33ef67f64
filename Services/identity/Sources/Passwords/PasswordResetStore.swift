import Foundation
import Postgres

extension AccountStore {
    /// Whether what is sent to the identifier `i` may open the account of the user `u`.
    ///
    /// An identifier that nobody has proved opens it only if nothing else does but the password: else a stranger who
    /// wrote down somebody's address could lie in wait behind an Apple account or a second identifier of their own.
    private static let isOpenedByItsIdentifier = """
        u.state = 'active' AND (
            i.verified OR (
                NOT EXISTS (SELECT FROM apple_identities a WHERE a.user_id = u.id)
                AND NOT EXISTS (SELECT FROM identifiers o WHERE o.user_id = u.id AND o.kind <> i.kind)))
        """

    /// Keeps a token for whoever reads what is sent to the identifier.
    /// - Returns: the account; `nil` when there is none to be opened in this way.
    func startReset(
        of identifier: Identifier, token: ResetToken, expiresAt: Date
    ) async throws -> Account? {
        try await withTransaction { transaction in
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
            return try await Self.account(owner, on: transaction)
        }
    }

    func knows(resetToken digest: [UInt8], deadline: ContinuousClock.Instant) async throws -> Bool {
        try await !database.query(
            "SELECT user_id FROM password_resets WHERE digest = \(digest) AND expires_at > now()", deadline: deadline
        ).isEmpty
    }

    /// Uses the token up, with all others of the user, and sets the password. Having received it proves the identifier,
    /// if that still is the user's and still opens the account.
    /// - Returns: the entry in the outbox that ends all sessions; `nil` when the token is none.
    func reset(
        _ digest: [UInt8], passwordHash: String, deadline: ContinuousClock.Instant
    ) async throws -> OutboxEntry? {
        try await withTransaction(deadline: deadline) { transaction in
            let holder = try await transaction.query(
                "SELECT user_id FROM password_resets WHERE digest = \(digest) AND expires_at > now()"
            ).first?.decode(UUID.self)
            guard let userID = holder, try await Self.lock(userID, on: transaction) else { return nil }
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
            return try await Self.replacePassword(
                of: userID, by: passwordHash, sparing: nil, event: .passwordReset, actor: .user, on: transaction)
        }
    }
}
