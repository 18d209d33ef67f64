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
        try await limits.admit(.apple, from: context.clientAddress)
        let (proof, nonce) = try await proofs.prove(identityToken, nonce: nonce, context: context)
        // It is taken for an hour at a sign-in: then it would make a proof of an hour ago a new one.
        guard age.accepts(proof.issuedAt, now: .now) else { throw Problem(.invalidAppleToken) }
        let deadline = context.deadline.forDatabase
        let found = try await identities.account(subject: proof.subject, deadline: deadline)
        let refusal = Problem(.invalidAppleToken, "This is not the Apple account of this user.")
        guard found?.account.id == user.id else { throw refusal }
        // Before the session is changed. A repetition within the minute is accepted, if the answer was lost.
        if let nonce {
            guard try await nonces.use(nonce, deadline: deadline) else { throw Problem(.invalidAppleToken) }
        }
        try await reauthentication(
            of: user, proving: found?.account, by: [.apple], refusal: refusal, context: context)
    }
}
