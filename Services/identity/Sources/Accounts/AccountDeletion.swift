import Contracts
import Foundation
import Logging
import ServiceKit

/// Deleting one's own account (`DELETE /v1/auth/account`).
///
/// The user's rows go first, in one transaction with the job that tells the others: from then on nobody signs in, and
/// whatever dies, the job remains. The sessions are revoked before the answer, so that what it says is true. May be
/// repeated: what was begun is carried on, and an account that is gone is deleted.
struct AccountDeletion: Sendable {
    let accounts: AccountStore
    let delivery: OutboxDelivery
    let worker: OutboxWorker
    let sealer: Sealer
    let logger: Logger

    /// - Throws: `UNAVAILABLE` when the deletion stands but the sessions could not be revoked yet.
    func callAsFunction(_ userID: UUID, actor: AuditActor = .user, deadline: Deadline) async throws {
        let job = try await accounts.delete(userID, actor: actor, sealer: sealer, deadline: deadline.forDatabase)
        guard let job else { return }
        do {
            try await delivery.begin(deletion: job)
        } catch {
            logger.warning("A deletion waits for the tokens service", metadata: ["error": "\(error)"])
            throw Problem(.unavailable)
        }
        worker.ring()
    }
}
