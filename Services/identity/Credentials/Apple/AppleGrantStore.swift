import Foundation
import GatehouseServiceContracts
import IdentityCore
import Postgres
import Sealing

/// A grant of Apple for a user: a sealed refresh token (in `apple_identities`), or an authorization code that is
/// not exchanged yet (in the outbox).
struct AppleGrantStore: Sendable {
    let database: PostgresPool
    let sealer: Sealer

    /// The refresh token to revoke at Apple when the Apple account is removed.
    ///
    /// The user's Apple account is locked, so that no token is stored for it until the transaction ends. A token that
    /// arrives meanwhile waits, and then finds the account gone or with its next user.
    func grant(of userID: UUID, on transaction: PostgresTransaction) async throws -> AppleGrant? {
        let identity = try await transaction.query(
            """
            SELECT i.id, a.client_id, a.refresh_token
            FROM credentials i JOIN apple_identities a ON a.credential_id = i.id
            WHERE i.user_id = \(userID) AND \(unescaped: AppleIdentityStore.isApple) FOR UPDATE OF a
            """
        ).first?.decode((UUID, String, Data?).self)
        guard let (id, clientID, sealed) = identity, let sealed,
            let token = sealer.open(sealed, context: AppleGrant.context(ofCredential: id)),
            let text = String(validating: token, as: UTF8.self)
        else { return nil }
        return AppleGrant(clientID: clientID, kind: .refreshToken, secret: text)
    }

    /// Stores Apple's refresh token with the Apple account that it was granted for. After a merge, that Apple account
    /// may belong to another user.
    /// - Returns: whether any user has that Apple account.
    func keepRefreshToken(_ token: String, clientID: String, of subject: String) async throws -> Bool {
        // This row is the only one that the transaction locks, so the order of locks does not matter here.
        try await database.withTransaction { transaction in
            let id = try await transaction.query(
                """
                SELECT i.id FROM credentials i JOIN apple_identities a ON a.credential_id = i.id
                WHERE \(unescaped: AppleIdentityStore.isApple) AND i.subject = \(subject) FOR UPDATE OF a
                """
            ).first?.decode(UUID.self)
            // Read again: while the lock was awaited, a transfer to another team may have given it another subject.
            guard let id, try await Self.owner(of: subject, on: transaction)?.credential == id else { return false }
            let sealed = try sealer.seal(Data(token.utf8), context: AppleGrant.context(ofCredential: id))
            try await transaction.query(
                """
                UPDATE apple_identities SET refresh_token = \(sealed), client_id = \(clientID)
                WHERE credential_id = \(id)
                """)
            return true
        }
    }

    /// Enqueues the exchange of the authorization code for a refresh token; its revocation, if no user has the Apple
    /// account any more.
    func enqueueExchange(of code: AppleGrant, subject: String) async throws {
        try await database.withRetriedTransaction { transaction in
            repeat {
                // Waits for a removal or merge in progress, and finds no row if the Apple account has no longer this user.
                let owner = try await transaction.query(
                    """
                    SELECT u.id FROM users u JOIN credentials i ON i.user_id = u.id
                    WHERE \(unescaped: AppleIdentityStore.isApple) AND i.subject = \(subject)
                    FOR KEY SHARE OF u FOR SHARE OF i
                    """
                ).first?.decode(UUID.self)
                if let owner {
                    try await OutboxStore.enqueue(
                        .exchangeCode(subject: subject), user: owner, dueAtOnce: true, on: transaction,
                        sealing: { try code.sealed(by: sealer, for: $0) })
                    return
                }
            } while try await Self.owner(of: subject, on: transaction) != nil
            try await enqueueRevocation(of: code, on: transaction)
        }
    }

    private static func owner(
        of subject: String, on transaction: PostgresTransaction
    ) async throws -> (credential: UUID, user: UUID)? {
        try await transaction.query(
            """
            SELECT id, user_id FROM credentials i
            WHERE \(unescaped: AppleIdentityStore.isApple) AND subject = \(subject)
            """
        ).first.map { row in
            let (credential, user) = try row.decode((UUID, UUID).self)
            return (credential, user)
        }
    }

    /// Enqueues the revocation of the grant at Apple. The task is about no user: it outlives the account and its tasks.
    func enqueueRevocation(of grant: AppleGrant, on database: some PostgresQuerying) async throws {
        try await OutboxStore.enqueue(
            .revokeAppleGrant, user: nil, dueAtOnce: true, on: database,
            sealing: { try grant.sealed(by: sealer, for: $0) })
    }

    /// Removes the refresh token, which is void, and ends the user's sessions. The Apple account stays linked, so that
    /// the user can sign in again.
    /// - Parameter time: when the user withdrew the consent.
    /// - Returns: `false` when the user has given consent again since. Nothing has been done then.
    func endConsent(of userID: UUID, at time: Date) async throws -> Bool {
        try await database.withRetriedTransaction { transaction in
            guard let user = try await AccountStore.lock(userID, on: transaction) else { return true }
            let ended = try await transaction.query(
                """
                UPDATE apple_identities a SET refresh_token = NULL FROM credentials i
                WHERE i.user_id = \(userID) AND \(unescaped: AppleIdentityStore.isApple)
                    AND a.credential_id = i.id AND coalesce(a.consented_at, i.created_at) <= \(time)
                """)
            guard ended.affectedRows == 1 else { return false }
            guard let version = try await AccountStore.touch(user, credentials: true, on: transaction) else {
                return true
            }
            try await AuditStore.record(.appleConsentRevoked, userID, by: .apple, on: transaction)
            try await OutboxStore.enqueue(
                .revokeSessions(reason: .logout, except: nil, below: version), user: userID, dueAtOnce: true,
                on: transaction)
            return true
        }
    }
}
