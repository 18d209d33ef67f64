import Contracts
import Foundation
import Instruments
import Logging
import ServiceKit
import ServiceKitPostgres
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

/// Deletes accounts that have verified neither an identifier nor a credential, and are no longer used
/// (`IDENTITY_UNVERIFIED_RETENTION_DAYS`).
///
/// Each run reads the next users in the order of their age and remembers where it ended. Its cost therefore does not
/// grow with the number of users.
final class UnverifiedAccountRemoval: Sendable {
    private let deletions: AccountDeletionStore
    private let days: Int
    private let isSignedIn: @Sendable (UUID) async throws -> Bool
    private let position = Mutex<AccountDeletionStore.Position?>(nil)
    private let removed = Counter(
        "identity_unverified_accounts_removed_total", help: "Accounts deleted because they had verified nothing.")

    /// The number of users that one statement reads, and the number of statements in a run.
    static let page = 500
    static let pagesPerRun = 20

    /// - Parameters:
    ///   - days: days since the user's last entry in the audit log, which records every sign-in.
    ///   - isSignedIn: whether the user has a session. A session that is only refreshed leaves no entry in the audit
    ///     log.
    init(
        deletions: AccountDeletionStore, days: Int, isSignedIn: @escaping @Sendable (UUID) async throws -> Bool
    ) {
        self.deletions = deletions
        self.days = days
        self.isSignedIn = isSignedIn
    }

    var table: Purger.Table {
        Purger.Table("users") {
            try await self.run()
            return nil
        }
    }

    func run() async throws {
        for _ in 0..<Self.pagesPerRun {
            let last = position.withLock { $0 }
            let users = try await deletions.oldest(after: last, unusedFor: days, limit: Self.page)
            for (user, isAbandoned) in users where isAbandoned {
                if try await !isSignedIn(user.id) { try await remove(user.id) }
            }
            let isEnd = users.count < Self.page
            position.withLock { $0 = isEnd ? nil : users.last?.position }
            if isEnd { return }
        }
    }

    /// The outbox notifies the other services.
    private func remove(_ userID: UUID) async throws {
        if try await deletions.deleteAbandoned(userID, unusedFor: days) { removed.increment() }
    }
}
