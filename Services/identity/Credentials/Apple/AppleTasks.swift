import Foundation
import IdentityCore
import Postgres

extension OutboxDestination {
    static let apple = Self(name: "apple")
}

extension OutboxTask {
    /// Apple exchanges an authorization code for the refresh token of the Apple account that it came with.
    static func exchangeCode(subject: String) -> OutboxTask {
        OutboxTask(AppleCodeTask(subject: subject), for: .apple)
    }

    /// Apple revokes the grant that is sealed in the task's row.
    static let revokeAppleGrant = OutboxTask(AppleRevocationTask(), for: .apple)
}

struct AppleCodeTask: OutboxPayload {
    static let kind = "exchange_code"
    static let key = "exchangeCode"

    var subject: String
}

struct AppleRevocationTask: OutboxPayload {
    static let kind = "apple_revocation"
    static let key = "appleRevocation"
}

extension AppleGrantDelivery {
    var handlers: [OutboxHandler] {
        [
            OutboxHandler(AppleCodeTask.self, for: .apple) { task, entry in
                try await exchange(entry, of: task.subject)
                return .done
            },
            OutboxHandler(AppleRevocationTask.self, for: .apple) { _, entry in
                try await revoke(entry)
                return .done
            },
        ]
    }
}

extension OutboxStore {
    /// Has the user's codes revoked that wait to be exchanged. A process that exchanges one of them now finds its Apple
    /// account gone, and has its token revoked.
    static func revokeExchanges(of userID: UUID, on transaction: PostgresTransaction) async throws {
        let task = OutboxTask.revokeAppleGrant
        try await transaction.query(
            """
            UPDATE outbox SET
                kind = \(task.kind), task = \(try task.json())::jsonb, user_id = NULL, revision = revision + 1,
                attempts = 0, next_attempt_at = now()
            WHERE user_id = \(userID) AND kind = \(AppleCodeTask.kind)
            """)
    }

    /// Gives the tasks to the account that the user's is merged into.
    static func moveExchanges(from: UUID, to into: UUID, on transaction: PostgresTransaction) async throws {
        try await transaction.query(
            "UPDATE outbox SET user_id = \(into) WHERE user_id = \(from) AND kind = \(AppleCodeTask.kind)")
    }
}
