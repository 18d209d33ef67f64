import Foundation
import IdentityCore
import Postgres

/// Deletes accounts, with everything that belongs to them.
struct AccountDeletionStore: Sendable {
    let database: PostgresPool
    let registry: CredentialRegistry

    /// Deletes the user, with all rows that refer to it, and enqueues one task that notifies the other services.
    ///
    /// Once this has committed, the user cannot sign in to the account, and its identifiers are free.
    /// - Parameter condition: evaluated after the user's row is locked.
    /// - Returns: the task, also when the deletion was begun before; `nil` when nothing is left to do.
    func delete(
        _ userID: UUID, actor: AuditActor,
        where condition: (PostgresTransaction) async throws -> Bool = { _ in true }
    ) async throws -> OutboxEntry? {
        try await database.withRetriedTransaction { transaction in
            guard try await AccountStore.lock(userID, on: transaction) != nil else {
                return try await OutboxStore.deletion(of: userID, on: transaction)
            }
            guard try await condition(transaction) else { return nil }
            try await registry.removeAll(of: userID, on: transaction)
            try await transaction.query("DELETE FROM outbox WHERE user_id = \(userID)")
            try await transaction.query("DELETE FROM users WHERE id = \(userID)")
            try await AuditStore.record(.deleted, userID, by: actor, on: transaction)
            return try await OutboxStore.enqueue(.deletion(.revokeSessions), user: userID, on: transaction)
        }
    }
}

/// Accounts that are no longer used (``UnverifiedAccountRemoval``).
extension AccountDeletionStore {
    /// A user's position in the order of age.
    struct Position: Sendable {
        var createdAt: Date
        var id: UUID
    }

    /// Staff and disabled accounts are kept, because an operator set their role or state.
    private static func isAbandoned(after days: Int) -> String {
        """
        u.state = 'active' AND u.role = 'user' AND u.store_ids = '{}'
            AND u.created_at < now() - make_interval(days => \(days))
            AND NOT EXISTS (SELECT FROM identifiers i WHERE i.user_id = u.id AND i.verified)
            AND NOT EXISTS (SELECT FROM credentials c WHERE c.user_id = u.id AND c.verified_at IS NOT NULL)
            AND NOT EXISTS (
                SELECT FROM audit_entries e WHERE e.user_id = u.id AND e.at > now() - make_interval(days => \(days)))
        """
    }

    /// Users who registered more than `days` ago, from the oldest on.
    /// - Parameter last: the last user of the previous page.
    /// - Returns: each user, and whether the account is abandoned.
    func oldest(
        after last: Position?, unusedFor days: Int, limit: Int
    ) async throws -> [(position: Position, isAbandoned: Bool)] {
        try await database.query(
            """
            SELECT u.created_at, u.id, \(unescaped: Self.isAbandoned(after: days)) FROM users u
            WHERE u.created_at < now() - make_interval(days => \(days)::integer)
                AND (u.created_at, u.id) > (
                    coalesce(\(last?.createdAt), '-infinity'),
                    coalesce(\(last?.id), '00000000-0000-0000-0000-000000000000'))
            ORDER BY u.created_at, u.id LIMIT \(limit)
            """
        ).decode((Date, UUID, Bool).self).map { (Position(createdAt: $0, id: $1), $2) }
    }

    /// Deletes the account, if it is still abandoned.
    /// - Returns: whether it was.
    func deleteAbandoned(_ userID: UUID, unusedFor days: Int) async throws -> Bool {
        let entry = try await delete(userID, actor: .system) { transaction in
            try await transaction.query(
                "SELECT \(unescaped: Self.isAbandoned(after: days)) FROM users u WHERE u.id = \(userID)"
            )[0].decode(Bool.self)
        }
        return entry != nil
    }
}
