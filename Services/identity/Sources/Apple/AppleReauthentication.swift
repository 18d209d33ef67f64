import Contracts
import Foundation
import ServiceKit

/// Proving oneself again by Sign in with Apple, with the Apple account that is linked.
struct AppleReauthentication: Sendable {
    let identities: AppleIdentityStore
    let nonces: NonceStore
    let proofs: AppleProofs
    let limits: AttemptLimits
    let age: AuthenticationAge
    let reauthentication: Reauthentication

    /// - Throws: `INVALID_APPLE_TOKEN`, also for another Apple account's token, and for one that is no recent proof.
    func callAsFunction(
        _ identityToken: String, nonce: String?, of user: ForwardedUser, context: GatehouseRequestContext
    ) async throws {
        let refusal = Problem(.invalidAppleToken, "This is not the Apple account of this user.")
        let account = try await account(provenBy: identityToken, nonce: nonce, of: user.id, context: context)
        try await reauthentication(
            of: user, proving: account, by: [.apple], refusal: refusal, context: context)
    }

    /// The account that the Apple account is linked to.
    /// - Parameter userID: which it has to be; `nil`: any.
    /// - Throws: `INVALID_APPLE_TOKEN`, also for a token that is no recent proof.
    func account(
        provenBy identityToken: String, nonce: String?, of userID: UUID? = nil, context: GatehouseRequestContext
    ) async throws -> Account {
        try await limits.admit(.apple, from: context.clientAddress)
        let (proof, nonce) = try await proofs.prove(identityToken, nonce: nonce, context: context)
        // It is taken for an hour at a sign-in: then it would make a proof of an hour ago a new one.
        guard age.accepts(proof.issuedAt, now: .now) else { throw Problem(.invalidAppleToken) }
        let deadline = context.deadline.forDatabase
        let found = try await identities.account(subject: proof.subject, deadline: deadline)
        guard let account = found?.account, userID == nil || account.id == userID else {
            throw Problem(.invalidAppleToken, "This is not the Apple account of this user.")
        }
        // Before anything is changed. A repetition within the minute is accepted, if the answer was lost.
        if let nonce {
            guard try await nonces.use(nonce, deadline: deadline) else { throw Problem(.invalidAppleToken) }
        }
        return account
    }
}
