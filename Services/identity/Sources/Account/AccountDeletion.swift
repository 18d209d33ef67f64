import Foundation
import GatehouseInstruments
import GatehouseServiceContracts
import GatehouseServiceKit
import IdentityCore
import Logging
import Postgres
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
        do {
            if try await deletions.deleteAbandoned(userID, unusedFor: days) { removed.increment() }
        } catch is UnknownCredentialKind {
            // A replica of the newer version removes the account.
        }
    }
}

/// The steps of a deletion after the account's rows are gone from this service's database, in their order.
///
/// Each step is idempotent, so a crash between performing and recording it is harmless. Sessions are revoked a second
/// time: a sign-in that was interrupted between creating its session and revoking it leaves one behind.
enum DeletionStep: String, Codable, Sendable, CaseIterable {
    case revokeSessions
    case eraseDevices
    case sweepSessions

    var next: DeletionStep? {
        let all = Self.allCases
        let index = all.firstIndex(of: self)! + 1
        return index < all.count ? all[index] : nil
    }
}

struct DeletionTask: OutboxPayload {
    static let kind = "deletion"
    static let key = "deletion"

    var step: DeletionStep

    enum CodingKeys: String, CodingKey { case step = "_0" }
}

extension OutboxTask {
    /// Notifies the other services of the user's deletion, step by step.
    static func deletion(_ step: DeletionStep) -> OutboxTask {
        OutboxTask(DeletionTask(step: step), for: step == .eraseDevices ? .devices : .tokens)
    }
}

/// Carries out the steps of deletions, as a task of the outbox.
struct DeletionDelivery: Sendable {
    let tokens: TokensClient
    let devices: DevicesClient

    var handlers: [OutboxHandler] {
        [
            OutboxHandler(DeletionTask.self, for: .tokens, .devices) { task, entry in
                if let userID = entry.userID { try await carryOut(task.step, of: userID) }
                return task.step.next.map { .next(.deletion($0), about: entry.userID) } ?? .done
            }
        ]
    }

    private func carryOut(_ step: DeletionStep, of userID: UUID) async throws {
        switch step {
        case .revokeSessions, .sweepSessions:
            try await tokens.revokeSessions(of: userID, RevokeSessionsRequest(reason: .accountDeleted))
        case .eraseDevices:
            try await devices.erase(userID)
        }
    }
}

extension OutboxStore {
    /// The task of the user's deletion, if it is still in progress.
    static func deletion(of userID: UUID, on database: some PostgresQuerying) async throws -> OutboxEntry? {
        try await latest(DeletionTask.self, of: userID, on: database)
    }
}

extension OutboxDelivery {
    /// Carries out the first step of a deletion, which the user waits for. The outbox carries out the others.
    func begin(deletion entry: OutboxEntry) async throws {
        guard try entry.payload(DeletionTask.self).step == .revokeSessions else { return }
        try await deliver(entry)
    }
}
