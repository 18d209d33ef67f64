import Foundation
import GatehouseServiceContracts

extension OutboxTask {
    /// tokens revokes a session that was issued to no client, if it exists. Rows and logs call it `take_back`.
    static func revokeUnused(session: UUID) -> OutboxTask {
        OutboxTask(UnusedSessionTask(session: session), for: .tokens)
    }
}

struct UnusedSessionTask: OutboxPayload {
    // The former name, which stored rows use.
    static let kind = "take_back"
    static let key = "revokeUnused"

    var session: UUID
}

/// Notifies tokens of changes of users and sessions, as tasks of the outbox.
package struct SessionDelivery: Sendable {
    let accounts: AccountStore
    let tokens: TokensClient

    var handlers: [OutboxHandler] {
        [
            OutboxHandler(SnapshotTask.self, for: .tokens) { _, entry in
                if let userID = entry.userID, let account = try await accounts.account(userID) {
                    try await tokens.put(account.snapshot)
                }
                return .done
            },
            OutboxHandler(SessionsRevocationTask.self, for: .tokens) { task, entry in
                if let userID = entry.userID {
                    try await tokens.revokeSessions(
                        of: userID,
                        RevokeSessionsRequest(
                            exceptSession: task.except, belowCredentialsVersion: task.below, reason: task.reason))
                }
                return .done
            },
            OutboxHandler(SessionEndTask.self, for: .tokens) { task, entry in
                if let userID = entry.userID { try await tokens.endSession(task.session, of: userID) }
                return .done
            },
            OutboxHandler(UnusedSessionTask.self, for: .tokens) { task, _ in
                try await tokens.revokeUnused(session: task.session)
                return .done
            },
        ]
    }
}
