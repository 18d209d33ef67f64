import Contracts
import Foundation
import Postgres

extension AccountStore {
    func knows(notification id: String, deadline: ContinuousClock.Instant) async throws -> Bool {
        try await !database.query("SELECT id FROM apple_notifications WHERE id = \(id)", deadline: deadline).isEmpty
    }

    func note(notification id: String, deadline: ContinuousClock.Instant) async throws {
        _ = try await database.query(
            "INSERT INTO apple_notifications (id) VALUES (\(id)) ON CONFLICT (id) DO NOTHING", deadline: deadline)
    }

    /// Apple's grant is void and the user is signed out everywhere; the link stays, for when the user comes back.
    /// - Parameter time: when the user withdrew the consent.
    /// - Returns: `false` where the user has agreed anew since, and nothing was done.
    func endAppleConsent(of userID: UUID, at time: Date, deadline: ContinuousClock.Instant) async throws -> Bool {
        try await withTransaction(deadline: deadline) { transaction in
            guard try await Self.lock(userID, on: transaction) else { return true }
            let ended = try await transaction.query(
                """
                UPDATE apple_identities SET refresh_token = NULL
                WHERE user_id = \(userID) AND coalesce(consented_at, created_at) <= \(time)
                """)
            guard ended.affectedRows == 1 else { return false }
            guard let version = try await Self.touch(userID, credentials: true, on: transaction) else { return true }
            try await Self.audit(.appleConsentRevoked, userID, by: .apple, on: transaction)
            try await OutboxStore.enqueue(
                .revokeSessions(reason: .logout, except: nil, below: version), user: userID, dueAtOnce: true,
                on: transaction)
            return true
        }
    }
}
