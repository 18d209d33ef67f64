import GatehouseServiceContracts
import GatehouseServiceKit
import IdentityCore

/// Links an Apple account to the account of a signed-in user (`POST /v1/auth/identities/apple`).
struct AppleLinking: Sendable {
    let identities: AppleIdentityStore
    let verifier: AppleVerifier
    let age: AuthenticationAge
    let notices: SecurityNotices
    let worker: OutboxWorker

    /// - Throws: `REAUTHENTICATION_REQUIRED`; `IDENTIFIER_TAKEN` when the Apple account belongs to another user, or the
    ///   user has another one.
    func callAsFunction(
        _ request: LinkAppleRequest, to user: ForwardedUser, context: GatehouseRequestContext
    ) async throws -> User {
        try age.require(user)
        let (token, singleUse) = try await verifier.verify(
            request.identityToken, nonce: request.nonce, context: context)
        let outcome = try await identities.link(token, to: user.id, using: singleUse, notices: notices)
        switch outcome {
        case .linked(let account):
            worker.wake()
            return account.user
        case .nonceSpent:
            throw Problem(.invalidAppleToken)
        case .taken:
            throw Problem(.identifierTaken, "This Apple account is already in use.")
        case .noSuchUser:
            throw Problem(.invalidToken)
        }
    }
}
