import Contracts
import Foundation
import ServiceKit

/// Undoing a change of an identifier (`POST /v1/auth/identifiers/undo`), by the token that was sent to the former one.
struct IdentifierUndoing: Sendable {
    let changes: IdentifierChangeStore
    let delivery: OutboxDelivery
    let limits: AttemptLimits
    let worker: OutboxWorker

    /// - Throws: `INVALID_REQUEST` for every token that does not count, whatever the reason; `IDENTIFIER_TAKEN` where
    ///   another user has proved the identifier since; `ACCOUNT_DISABLED` where the other side of a merge was restored
    ///   before.
    func callAsFunction(_ request: UndoIdentifierChangeRequest, context: GatehouseRequestContext) async throws {
        try await limits.admit(.undo, from: context.clientAddress)
        switch try await changes.undo(UndoToken.digest(request.token), deadline: context.deadline.forDatabase) {
        case .undone(let entry):
            worker.ring()
            // If tokens is away now, the outbox ends the sessions once it is back.
            try? await delivery.deliver(entry)
        case .locked:
            worker.ring()
            throw Problem(.accountDisabled, "Two people claim this account. It is locked. Please ask for help.")
        case .unknown:
            throw Problem.invalid("token", "The link is no longer valid.")
        case .taken:
            throw Problem(.identifierTaken, "Another account has proved this since.")
        }
    }
}
