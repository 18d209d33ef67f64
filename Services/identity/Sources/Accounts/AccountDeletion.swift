import Contracts
import Foundation
import Instruments
import Logging
import Postgres
import ServiceKit
import Synchronization

/// Deletes an account: the user's own (`DELETE /v1/auth/account`), or another user's on behalf of an operator.
///
/// One transaction deletes the user's rows and enqueues the task that notifies the other services. Once it has
/// committed, the user cannot sign in, and the task survives a crash of this process. The sessions are revoked before
/// the response is sent: a success response means that they have ended. The request is idempotent: repeating it
/// continues a deletion in progress, and an account that is already deleted counts as success.
struct AccountDeletion: Sendable {
    let deletions: AccountDeletionStore
    let delivery: OutboxDelivery
    let worker: OutboxWorker
    let logger: Logger

    /// - Returns: whether the account existed, or its deletion was still in progress.
    /// - Throws: `UNAVAILABLE` when the account is deleted but its sessions could not be revoked yet.
    @discardableResult
    func callAsFunction(_ userID: UUID, actor: AuditActor = .user) async throws -> Bool {
        let entry = try await deletions.delete(userID, actor: actor)
        guard let entry else { return false }
        do {
            try await delivery.begin(deletion: entry)
        } catch {
            logger.warning("A deletion waits for the tokens service", metadata: ["error": "\(error)"])
            throw Problem(.unavailable)
        }
        worker.wake()
        return true
    }
}

struct AccountDeletionStore: Sendable {
    let database: PostgresPool
    let grants: AppleGrantStore

    /// Deletes the user's rows and enqueues one task that notifies the other services.
    ///
    /// Once this has committed, the user cannot sign in to the account, and its identifiers are free.
    /// - Parameter condition: evaluated after the user's row is locked.
    /// - Returns: the task, also when the deletion was begun before; `nil` when nothing is left to do.
    func delete(
        _ userID: UUID, actor: AuditActor,
        where condition: (PostgresTransaction) async throws -> Bool = { _ in true }
    ) async throws -> OutboxEntry? {
        try await database.withRetriedTransaction { transaction in
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

/// Deletes accounts that have verified neither an identifier nor an Apple account, and are no longer used
/// (`IDENTITY_UNVERIFIED_RETENTION_DAYS`).
///
/// Each run reads the next users in the order of their age and remembers where it ended. Its cost therefore does not
/// grow with the number of users.
final class UnverifiedAccountRemoval: Sendable {
    private let database: PostgresPool
    private let deletions: AccountDeletionStore
    private let days: Int
    private let isSignedIn: @Sendable (UUID) async throws -> Bool
    private let position = Mutex<Position?>(nil)
    private let removed = Counter(
        "identity_unverified_accounts_removed_total", help: "Accounts deleted because they had verified nothing.")

    private struct Position {
        var createdAt: Date
        var id: UUID
    }

    /// The number of users that one statement reads, and the number of statements in a run.
    static let page = 500
    static let pagesPerRun = 20

    /// - Parameters:
    ///   - days: days since the user's last entry in the audit log, which records every sign-in.
    ///   - isSignedIn: whether the user has a session. A session that is only refreshed leaves no entry in the audit
    ///     log.
    init(
        database: PostgresPool, deletions: AccountDeletionStore, days: Int,
        isSignedIn: @escaping @Sendable (UUID) async throws -> Bool
    ) {
        self.database = database
        self.deletions = deletions
        self.days = days
        self.isSignedIn = isSignedIn
    }

    /// Staff and disabled accounts are kept, because an operator set their role or state.
    private static func isAbandoned(after days: Int) -> String {
        """
        u.state = 'active' AND u.role = 'user' AND u.store_ids = '{}'
            AND u.created_at < now() - make_interval(days => \(days))
            AND NOT EXISTS (SELECT FROM identifiers i WHERE i.user_id = u.id AND i.verified)
            AND NOT EXISTS (SELECT FROM apple_identities a WHERE a.user_id = u.id)
            AND NOT EXISTS (
                SELECT FROM audit_entries e WHERE e.user_id = u.id AND e.at > now() - make_interval(days => \(days)))
        """
    }

    func run() async throws {
        for _ in 0..<Self.pagesPerRun {
            let last = position.withLock { $0 }
            let users = try await database.query(
                """
                SELECT u.created_at, u.id, \(unescaped: Self.isAbandoned(after: days)) FROM users u
                WHERE u.created_at < now() - make_interval(days => \(days)::integer)
                    AND (u.created_at, u.id) > (
                        coalesce(\(last?.createdAt), '-infinity'),
                        coalesce(\(last?.id), '00000000-0000-0000-0000-000000000000'))
                ORDER BY u.created_at, u.id LIMIT \(Self.page)
                """
            ).decode((Date, UUID, Bool).self)
            for (_, id, isAbandoned) in users where isAbandoned {
                if try await !isSignedIn(id) { try await remove(id) }
            }
            let isEnd = users.count < Self.page
            position.withLock { $0 = isEnd ? nil : users.last.map { Position(createdAt: $0.0, id: $0.1) } }
            if isEnd { return }
        }
    }

    /// The outbox notifies the other services.
    private func remove(_ userID: UUID) async throws {
        let deletion = try await deletions.delete(userID, actor: .system) { transaction in
            try await transaction.query(
                "SELECT \(unescaped: Self.isAbandoned(after: self.days)) FROM users u WHERE u.id = \(userID)"
            )[0].decode(Bool.self)
        }
        if deletion != nil { removed.increment() }
    }
}
