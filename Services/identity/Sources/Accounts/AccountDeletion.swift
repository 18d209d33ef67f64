import Contracts
import Foundation
import Logging
import ServiceKit

/// Deleting an account: one's own (`DELETE /v1/auth/account`), or another's as an operator.
///
/// The user's rows go first, in one transaction with the task that tells the other services. From then on nobody signs
/// in, and the task survives a crash of this process. The sessions are revoked before the answer, so that the answer is
/// true. The request may be repeated: a deletion that was begun goes on, and an account that is gone counts as deleted.
struct AccountDeletion: Sendable {
    let deletions: AccountDeletionStore
    let delivery: OutboxDelivery
    let worker: OutboxWorker
    let logger: Logger

    /// - Returns: whether there was something to delete, or to go on with.
    /// - Throws: `UNAVAILABLE` when the account is deleted but its sessions could not be revoked yet.
    @discardableResult
    func callAsFunction(_ userID: UUID, actor: AuditActor = .user, deadline: Deadline) async throws -> Bool {
        let entry = try await deletions.delete(userID, actor: actor, deadline: deadline.forDatabase)
        guard let entry else { return false }
        do {
            try await delivery.begin(deletion: entry)
        } catch {
            logger.warning("A deletion waits for the tokens service", metadata: ["error": "\(error)"])
            throw Problem(.unavailable)
        }
        worker.ring()
        return true
    }
}
