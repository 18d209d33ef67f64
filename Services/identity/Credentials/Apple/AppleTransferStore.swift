import Foundation
import GatehouseBytes
import IdentityCore
import Postgres

/// Users who are being transferred to another team at Apple (table `apple_transfers`).
struct AppleTransferStore: Sendable {
    let database: PostgresPool

    /// A user to be sent to Apple.
    struct TransferringUser: Sendable {
        var credentialID: UUID
        var userID: UUID
        /// Before the transfer the team's own subject, after it the transfer identifier.
        var name: String
        var clientID: String
    }

    /// Users who have no identifier for a transfer to the team yet, in the order of their subjects.
    /// - Parameter last: the last user of the previous page.
    func unprepared(for team: String, after last: TransferringUser?, limit: Int) async throws -> [TransferringUser] {
        try await database.query(
            """
            SELECT i.id, i.user_id, i.subject, a.client_id
            FROM credentials i JOIN apple_identities a ON a.credential_id = i.id
            WHERE \(unescaped: AppleIdentityStore.isApple) AND i.subject > \(last?.name ?? "") AND NOT EXISTS (
                SELECT FROM apple_transfers t WHERE t.credential_id = i.id AND t.team = \(team))
            ORDER BY i.subject LIMIT \(limit)
            """
        ).decode((UUID, UUID, String, String).self).map(TransferringUser.init)
    }

    /// Users who are prepared for a transfer to the team and have no new subject yet.
    func prepared(for team: String, after last: TransferringUser?, limit: Int) async throws -> [TransferringUser] {
        try await database.query(
            """
            SELECT i.id, i.user_id, t.transfer_subject, a.client_id
            FROM apple_transfers t JOIN credentials i ON i.id = t.credential_id
            JOIN apple_identities a ON a.credential_id = i.id
            WHERE t.team = \(team) AND (\(last?.credentialID) IS NULL OR t.credential_id > \(last?.credentialID))
            ORDER BY t.credential_id LIMIT \(limit)
            """
        ).decode((UUID, UUID, String, String).self).map(TransferringUser.init)
    }

    /// Stores the user's transfer identifier for the team, unless the Apple account has been unlinked meanwhile.
    func keep(_ transferSubject: String, of user: TransferringUser, to team: String) async throws {
        try await database.query(
            """
            INSERT INTO apple_transfers (credential_id, team, transfer_subject)
            SELECT id, \(team), \(transferSubject) FROM credentials
            WHERE id = \(user.credentialID) AND subject = \(user.name) FOR KEY SHARE
            ON CONFLICT (credential_id) DO UPDATE
                SET team = EXCLUDED.team, transfer_subject = EXCLUDED.transfer_subject, created_at = now()
            """)
    }

    /// Finds the user by the transfer identifier in an identity token, and stores the subject of the new team. From
    /// then on that subject identifies the user.
    func adopt(_ token: VerifiedAppleToken) async throws {
        guard let transferSubject = token.transferSubject else { return }
        let userID = try await database.query(
            """
            SELECT i.user_id FROM apple_transfers t JOIN credentials i ON i.id = t.credential_id
            WHERE t.transfer_subject = \(transferSubject)
            """
        ).first?.decode(UUID.self)
        guard let userID else { return }
        _ = try await arrive(userID, transferSubject: transferSubject, as: token.subject)
    }

    /// Gives the user the subject of the new team.
    /// - Parameter email: the private relay address there; `nil` leaves the address as it is.
    /// - Returns: `.taken` if another user has the subject, and nothing was done; otherwise `.done`.
    func arrive(
        _ userID: UUID, transferSubject: String, as subject: String, email: EmailAddress? = nil
    ) async throws -> AppleTransferSummary.Outcome {
        try await database.withRetriedTransaction { transaction in
            guard let user = try await AccountStore.lock(userID, on: transaction) else { return .done }
            let former = try await transaction.query(
                """
                SELECT i.id, i.email FROM apple_transfers t JOIN credentials i ON i.id = t.credential_id
                WHERE i.user_id = \(userID) AND t.transfer_subject = \(transferSubject)
                """
            ).first?.decode((UUID, String?).self)
            // The user already has the new subject, from a sign-in or from an earlier run of this command.
            guard let (id, formerEmail) = former else { return .done }
            let holder = try await transaction.query(
                """
                SELECT user_id FROM credentials i
                WHERE \(unescaped: AppleIdentityStore.isApple) AND subject = \(subject)
                """
            ).first?.decode(UUID.self)
            guard holder == nil || holder == userID else { return .taken }
            try await transaction.query(
                """
                UPDATE credentials SET subject = \(subject), email = coalesce(\(email?.value), email)
                WHERE id = \(id)
                """)
            // The former team's refresh token is of no use to the new team.
            try await transaction.query("UPDATE apple_identities SET refresh_token = NULL WHERE credential_id = \(id)")
            try await transaction.query("DELETE FROM apple_transfers WHERE credential_id = \(id)")
            if let email {
                try await AppleIdentityStore.follow(.email(email), from: formerEmail, for: userID, on: transaction)
                try await AccountStore.touch(user, credentials: false, on: transaction)
            }
            try await AuditStore.record(.appleTransferred, userID, by: .apple, on: transaction)
            return .done
        }
    }
}
