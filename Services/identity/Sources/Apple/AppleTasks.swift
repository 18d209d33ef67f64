import Foundation
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

/// Stored as the last step of a deletion, which it is for most entries.
struct AppleRevocationTask: OutboxPayload {
    static let kind = "deletion"
    static let key = "deletion"

    enum Step: String, Codable { case revokeAtApple }

    var step = Step.revokeAtApple

    enum CodingKeys: String, CodingKey { case step = "_0" }
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
    static func pendingExchange(of userID: UUID, on database: some PostgresQuerying) async throws -> OutboxEntry? {
        try await latest(AppleCodeTask.self, of: userID, on: database)
    }
}
