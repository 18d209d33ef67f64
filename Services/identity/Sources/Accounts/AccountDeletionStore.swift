import Foundation
import Postgres

extension AccountStore {
    /// Erases the user's rows and leaves one job behind that tells everybody else.
    ///
    /// From the moment this commits nobody can sign in to the account, and its identifiers are free.
    /// - Returns: the job, also when it was begun before; `nil` when nothing is left to do.
    func delete(
        _ userID: UUID, actor: AuditActor, sealer: Sealer, deadline: ContinuousClock.Instant
    ) async throws -> OutboxEntry? {
        try await withTransaction(deadline: deadline) { transaction in
            let isThere = try await transaction.query("SELECT id FROM users WHERE id = \(userID) FOR UPDATE").count == 1
            guard isThere else {
                return try await OutboxStore.deletion(of: userID, on: transaction)
            }
            let grant = try await Self.appleGrant(of: userID, sealer: sealer, on: transaction)
            try await transaction.query("DELETE FROM outbox WHERE user_id = \(userID)")
            try await transaction.query("DELETE FROM users WHERE id = \(userID)")
            try await Self.audit(.deleted, userID, by: actor, on: transaction)
            return try await OutboxStore.enqueue(
                .deletion(.revokeSessions), user: userID, on: transaction,
                sealing: { id in try grant.map { try $0.sealed(by: sealer, for: id) } })
        }
    }

    /// What has to be given back to Apple: the refresh token, or the code that has not become one yet.
    static func appleGrant(
        of userID: UUID, sealer: Sealer, on transaction: PostgresTransaction
    ) async throws -> AppleGrant? {
        // Looked for first: an exchange that ends meanwhile keeps the token before its task goes.
        let pending = try await OutboxStore.pendingExchange(of: userID, on: transaction)
        let identity = try await transaction.query(
            "SELECT client_id, refresh_token FROM apple_identities WHERE user_id = \(userID)"
        ).first?.decode((String, Data?).self)
        if let (clientID, sealed) = identity, let sealed,
            let token = sealer.open(sealed, context: AppleGrant.context(ofUser: userID)),
            let text = String(validating: token, as: UTF8.self)
        {
            return AppleGrant(clientID: clientID, kind: .refreshToken, secret: text)
        }
        return pending.flatMap { AppleGrant.open($0.sealed, for: $0.id, by: sealer) }
    }

    /// Keeps Apple's refresh token beside the identity that it was granted for.
    /// - Returns: whether the user still has that one.
    func keepRefreshToken(
        _ token: String, clientID: String, of userID: UUID, subject: String, sealer: Sealer
    ) async throws -> Bool {
        let sealed = try sealer.seal(Data(token.utf8), context: AppleGrant.context(ofUser: userID))
        return try await database.query(
            """
            UPDATE apple_identities SET refresh_token = \(sealed), client_id = \(clientID)
            WHERE subject = \(subject) AND user_id = \(userID)
            """
        ).affectedRows == 1
    }
}
