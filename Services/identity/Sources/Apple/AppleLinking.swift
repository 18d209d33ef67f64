import Contracts
import Foundation
import ServiceKit

/// Adding and removing ways to sign in (`/v1/auth/identities`): explicit steps of somebody who is signed in.
struct AppleLinking: Sendable {
    let accounts: AccountStore
    let signIn: AppleSignIn
    let sealer: Sealer
    let worker: OutboxWorker

    /// - Throws: `IDENTIFIER_TAKEN` when the Apple account belongs to another user, or the user has another one.
    func link(
        _ request: LinkAppleRequest, to user: ForwardedUser, context: GatehouseRequestContext
    ) async throws -> User {
        try await signIn.limits.admit(.apple, from: context.clientAddress)
        let (proof, nonce) = try await signIn.prove(request.identityToken, nonce: request.nonce, context: context)
        switch try await accounts.link(proof, to: user.id, using: nonce, deadline: context.deadline.forDatabase) {
        case .linked(let account):
            worker.ring()
            return account.user
        case .nonceSpent:
            throw Problem(.invalidAppleToken)
        case .taken:
            throw Problem(.identifierTaken, "This Apple account is already in use.")
        case .noSuchUser:
            throw Problem(.invalidToken)
        }
    }

    func unlink(
        _ provider: AuthProvider, from user: ForwardedUser, context: GatehouseRequestContext
    ) async throws -> User {
        let deadline = context.deadline.forDatabase
        switch try await accounts.unlink(provider, from: user.id, sealer: sealer, deadline: deadline) {
        case .unlinked(let account):
            worker.ring()
            return account.user
        case .lastOne:
            throw Problem(.forbidden, "This is the only way to sign in to the account and cannot be removed.")
        case .notLinked:
            throw Problem(.notFound)
        case .noSuchUser:
            throw Problem(.invalidToken)
        }
    }
}
