import Foundation
import Postgres

/// Erases accounts.
struct AccountDeletionStore: Sendable {
    let database: PostgresPool
    let grants: AppleGrantStore

    /// Erases the user's rows and puts one task into the outbox that tells everybody else.
    ///
    /// Once this has committed nobody can sign in to the account, and its identifiers are free.
    /// - Parameter condition: looked at once the user's row is locked.
    /// - Returns: the task, also when the deletion was begun before; `nil` when nothing is left to do.
    func delete(
        _ userID: UUID, actor: AuditActor, deadline: ContinuousClock.Instant,
        where condition: (PostgresTransaction) async throws -> Bool = { _ in true }
    ) async throws -> OutboxEntry? {
        try await database.withRetriedTransaction(deadline: deadline) { transaction in
            guard try await AccountStore.lock(userID, on: transaction) else {
                return try await OutboxStore.deletion(of: userID, on: transaction)
            }
            guard try await condition(transaction) else { return nil }
            let grant = try await grants.grant(of: userID, on: transaction)
            try await transaction.query("DELETE FROM outbox WHERE user_id = \(userID)")
            try await transaction.query("DELETE FROM users WHERE id = \(userID)")
            try await AuditLog.record(.deleted, userID, by: actor, on: transaction)
            return try await OutboxStore.enqueue(
                .deletion(.revokeSessions), user: userID, on: transaction,
                sealing: { task in try grant.map { try $0.sealed(by: grants.sealer, for: task) } })
        }
    }
}
