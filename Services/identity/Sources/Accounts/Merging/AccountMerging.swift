import Contracts
import Foundation
import Logging
import ServiceKit

/// Making one account of two (`POST /v1/auth/merge`), by whoever has a recent proof of the one and proves the other now.
struct AccountMerging: Sendable {
    let proofs: MergeProofs
    let merges: AccountMergeStore
    let accounts: AccountStore
    let sessions: SessionIssuer
    let age: AuthenticationAge
    let delivery: OutboxDelivery
    let worker: OutboxWorker
    let logger: Logger

    /// - Throws: `REAUTHENTICATION_REQUIRED`; what ``MergeProofs`` throws; `ACCOUNT_DISABLED`; `FORBIDDEN` where the two
    ///   are not merged.
    func callAsFunction(
        _ request: MergeRequest, by user: ForwardedUser, context: GatehouseRequestContext
    ) async throws -> MergeResponse {
        try age.require(user)
        if request.password != nil { try proofs.hasher.requireRoom() }
        let device = try request.device?.checked()
        return try await proofs.prove(request, by: user, context: context) { proved in
            guard let own = try await accounts.account(user.id, deadline: context.deadline.forDatabase) else {
                throw Problem(.invalidToken)
            }
            // Whoever repeats it, since the answer was lost, proves the account that they are signed in to.
            if proved.account.id == own.id { return MergeResponse(user: own.user) }
            let merged = try await merge(own, proved.account, sparing: user.sessionID, context)
            guard merged.id != own.id else { return MergeResponse(user: merged.user) }
            let auth = try await sessions.issue(
                on: device, by: proved.methods, context: context, refusal: Problem(.invalidToken)
            ) {
                guard let account = try await accounts.account(merged.id, deadline: context.deadline.forDatabase)
                else { throw Problem(.invalidToken) }
                return account
            }.auth
            return MergeResponse(user: auth.user, session: auth)
        }
    }

    private func merge(
        _ own: Account, _ other: Account, sparing session: UUID, _ context: GatehouseRequestContext
    ) async throws -> Account {
        let outcome = try await merges.merge(own, other, sparing: session, deadline: context.deadline.forDatabase)
        switch outcome {
        case .merged(let account, let tasks):
            worker.ring()
            for task in tasks {
                // The accounts are merged. If tokens is away now, the outbox ends the sessions once it is back.
                do { try await delivery.deliver(task) } catch {
                    logger.warning("A merger waits for the tokens service", metadata: ["error": "\(error)"])
                }
            }
            return account
        case .refused(.disabled):
            throw Problem(.accountDisabled)
        case .refused(.rights):
            throw Problem(.forbidden, "The two accounts have different rights. Please ask for help.")
        case .refused(.lateChange):
            throw Problem(
                .forbidden, "An address or number was changed less than three days ago. Please try again later.")
        case .moved:
            throw Problem(.unavailable)
        }
    }
}
