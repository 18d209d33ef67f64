import Contracts
import Foundation
import Postgres
import Sealing

/// A grant of Apple for a user: a sealed refresh token (in `apple_identities`), or an authorization code that is
/// not exchanged yet (in the outbox).
struct AppleGrantStore: Sendable {
    let database: PostgresPool
    let sealer: Sealer

    /// The grant to revoke at Apple when the user is deleted: the refresh token, or a code that is not exchanged yet.
    ///
    /// The user's Apple account is locked, so that no token is stored for it until the transaction ends. A token that
    /// arrives meanwhile waits, and then finds the account gone or with its next user.
    func grant(of userID: UUID, on transaction: PostgresTransaction) async throws -> AppleGrant? {
        // The code is read before the token. An exchange stores the token before it removes the code, so one of the two
        // is always visible here.
        let pending = try await OutboxStore.pendingExchange(of: userID, on: transaction)
        let identity = try await transaction.query(
            "SELECT client_id, refresh_token FROM apple_identities WHERE user_id = \(userID) FOR UPDATE"
        ).first?.decode((String, Data?).self)
        if let (clientID, sealed) = identity, let sealed,
            let token = sealer.open(sealed, context: AppleGrant.context(ofUser: userID)),
            let text = String(validating: token, as: UTF8.self)
        {
            return AppleGrant(clientID: clientID, kind: .refreshToken, secret: text)
        }
        return pending.flatMap { AppleGrant.open($0.sealed, for: $0.id, by: sealer) }
    }

    /// Stores Apple's refresh token with the Apple account that it was granted for. After a merge, that Apple account
    /// may belong to another user.
    /// - Returns: whether any user has that Apple account.
    func keepRefreshToken(_ token: String, clientID: String, of subject: String) async throws -> Bool {
        // This row is the only one that the transaction locks, so the order of locks does not matter here.
        try await database.withTransaction { transaction in
            let owner = try await transaction.query(
                "SELECT user_id FROM apple_identities WHERE subject = \(subject) FOR UPDATE"
            ).first?.decode(UUID.self)
            guard let owner else { return false }
            let sealed = try sealed(refreshToken: token, of: owner)
            try await transaction.query(
                "UPDATE apple_identities SET refresh_token = \(sealed), client_id = \(clientID) WHERE subject = \(subject)"
            )
            return true
        }
    }

    /// The sealed form that is stored with the user's Apple account.
    func sealed(refreshToken token: String, of userID: UUID) throws -> Data {
        try sealer.seal(Data(token.utf8), context: AppleGrant.context(ofUser: userID))
    }

    /// Enqueues the exchange of the authorization code for a refresh token.
    func enqueueExchange(of code: AppleGrant, subject: String, userID: UUID) async throws {
        try await OutboxStore.enqueue(
            .exchangeCode(subject: subject), user: userID, dueAtOnce: true, on: database,
            sealing: { try code.sealed(by: sealer, for: $0) })
    }

    /// Enqueues the revocation of the grant at Apple.
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
                UPDATE apple_identities SET refresh_token = NULL
                WHERE user_id = \(userID) AND coalesce(consented_at, created_at) <= \(time)
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
