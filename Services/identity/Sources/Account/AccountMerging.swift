import Foundation
import GatehouseServiceContracts
import GatehouseServiceKit
import Hummingbird
import IdentityCore
import Logging

/// Merges two accounts.
struct MergeRoutes: Sendable {
    let merging: AccountMerging

    func add(to router: ServiceRouter) {
        router.post("/v1/auth/merge") { request, context in
            AuditedAttempt.note(action: .merge)
            let user = try context.requireUser()
            let answer = try await merging(request.decode(MergeRequest.self), by: user, context: context)
            return try Response.json(answer, holdsToken: true)
        }
    }
}

/// Merges two accounts (`POST /v1/auth/merge`). The user has recently authenticated to the one, and authenticates to
/// the other in this request.
struct AccountMerging: Sendable {
    let verification: CredentialVerification
    let merges: AccountMergeStore
    let accounts: AccountStore
    let sessions: SessionIssuer
    let age: AuthenticationAge
    let delivery: OutboxDelivery
    let worker: OutboxWorker
    let logger: Logger

    /// - Throws: `REAUTHENTICATION_REQUIRED`; what ``CredentialVerification`` throws; `ACCOUNT_DISABLED`; `FORBIDDEN`
    ///   where the accounts are not merged.
    func callAsFunction(
        _ request: MergeRequest, by user: ForwardedUser, context: GatehouseRequestContext
    ) async throws -> MergeResponse {
        try age.require(user)
        let device = try request.device?.checked()
        let presented = PresentedCredential(request)
        return try await verification(presented, of: .otherAccount(of: user), context: context) { verified in
            guard let own = try await accounts.account(user.id) else { throw Problem(.invalidToken) }
            // A client that repeats the request after a lost response authenticates to the account that it is already
            // signed in to.
            if verified.account.id == own.id { return MergeResponse(user: own.user) }
            let merged = try await merge(own, verified.account, sparing: user.sessionID)
            guard merged.id != own.id else { return MergeResponse(user: merged.user) }
            let auth = try await sessions.issue(
                on: device, by: verified.verification, context: context, refusal: Problem(.invalidToken)
            ) {
                guard let account = try await accounts.account(merged.id) else { throw Problem(.invalidToken) }
                return account
            }.auth
            return MergeResponse(user: auth.user, session: auth)
        }
    }

    private func merge(_ own: Account, _ other: Account, sparing session: UUID) async throws -> Account {
        let outcome = try await merges.merge(own, other, sparing: session)
        switch outcome {
        case .merged(let account, let tasks):
            worker.wake()
            for task in tasks {
                // The accounts are merged. If tokens is unavailable now, the outbox ends the sessions later.
                do { try await delivery.deliver(task) } catch {
                    logger.warning("A merge waits for the tokens service", metadata: ["error": "\(error)"])
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
        case .credentialsChanged:
            throw Problem(.unavailable)
        }
    }
}

extension AuditEvent {
    /// The account was merged into another one of the same person, which the entry names.
    static let merged = Self("merged", published: .userMerged)
    /// Another account was merged into this one.
    static let absorbed = Self("absorbed", published: .userUpdated)

    static let ofMerging = [merged, absorbed]
}

extension AuditedAttempt.Action {
    static let merge = Self(name: "merge", refusal: .forbidden)
}
