import Foundation
import GatehouseServiceContracts
import GatehouseServiceKit
import IdentityCore
import Logging

/// Verifies an identity token and identifies its user, for signing in, linking, and authenticating again.
struct AppleVerifier: CredentialVerifier {
    let tokens: AppleTokenVerifier
    let policy: AppleTokenPolicy
    let nonceIssuer: AppleNonceIssuer
    let nonceStore: AppleNonceStore
    let transfers: AppleTransferStore
    let identities: AppleIdentityStore
    let limits: AttemptLimits
    let age: AuthenticationAge
    /// Whether users may sign in with Apple.
    let isOffered: Bool
    let logger: Logger

    let field = "identityToken"

    func isPresented(in request: PresentedCredential) throws(Problem) -> Bool {
        try AppleNonceIssuer.checkLength(of: request.nonce)
        return request.identityToken != nil
    }

    func verify<Value: Sendable>(
        _ request: PresentedCredential, of subject: VerificationSubject, context: GatehouseRequestContext,
        then body: (VerifiedAccount) async throws -> Value
    ) async throws -> Value {
        AuditedAttempt.note(.apple)
        guard isOffered else { throw Problem(.invalidAppleToken) }
        let account = try await account(
            of: subject, verifiedBy: request.identityToken ?? "", nonce: request.nonce, context: context)
        return try await body(VerifiedAccount(account: account, verification: .apple()))
    }

    /// Verifies the token and its nonce. Moves a user whose app has changed teams at Apple to the new subject.
    ///
    /// - Parameter nonce: the nonce of the request, raw.
    /// - Returns: the verified claims, and the nonce to use up with them.
    /// - Throws: `INVALID_APPLE_TOKEN`; `UNAVAILABLE` when Apple's keys are not available.
    func verify(
        _ identityToken: String, nonce: String?, context: GatehouseRequestContext
    ) async throws -> (VerifiedAppleToken, SingleUseNonce?) {
        try await limits.admit(.apple, from: context.clientAddress)
        AuditedAttempt.note(.apple)
        try AppleNonceIssuer.checkLength(of: nonce)
        guard let claims = try await tokens.claims(AppleIdentityClaims.self, of: identityToken) else {
            throw Problem(.invalidAppleToken)
        }
        let now = Int64(Date.now.timeIntervalSince1970)
        do {
            try policy.check(claims, nonce: nonce, now: now)
        } catch {
            logger.info("An Apple token was refused", metadata: ["reason": "\(error.rawValue)"])
            throw Problem(.invalidAppleToken)
        }
        let singleUse = try nonce.flatMap { nonce in
            try rememberedUntil(nonce, in: claims, now: now).map {
                SingleUseNonce(of: nonce, with: identityToken, expiresAt: $0)
            }
        }
        if let singleUse, try await nonceStore.isSpent(singleUse) { throw Problem(.invalidAppleToken) }
        let token = VerifiedAppleToken(claims)
        try await transfers.adopt(token)
        return (token, singleUse)
    }

    /// The second (since 1970) until which the nonce has to be remembered as used; `nil` for a nonce that only has to
    /// match.
    private func rememberedUntil(
        _ nonce: String, in claims: AppleIdentityClaims, now: Int64
    ) throws(Problem) -> Int64? {
        switch nonceIssuer.verify(nonce, now: now) {
        case .ours(let expiresAt): expiresAt
        case .notOurs: policy.nonceRule == .required ? policy.end(of: claims) : nil
        case .invalid: throw Problem(.invalidAppleToken)
        }
    }

    /// The account that the Apple account is linked to.
    /// - Throws: `INVALID_APPLE_TOKEN`, also for the token of another Apple account and for a token that was not issued
    ///   recently.
    func account(
        of subject: VerificationSubject, verifiedBy identityToken: String, nonce: String?,
        context: GatehouseRequestContext
    ) async throws -> Account {
        let (token, singleUse) = try await verify(identityToken, nonce: nonce, context: context)
        // A sign-in accepts a token for an hour. Here an hour-old token would count as recent authentication.
        guard age.accepts(token.issuedAt, now: .now) else { throw Problem(.invalidAppleToken) }
        guard let account = try await identities.account(subject: token.subject)?.account, subject.accepts(account)
        else {
            throw Problem(.invalidAppleToken, "This is not the Apple account of this user.")
        }
        // Before anything is changed. A repetition within a minute is accepted, because the response may have been
        // lost.
        if let singleUse, try await !nonceStore.spend(singleUse) { throw Problem(.invalidAppleToken) }
        return account
    }
}
