import Contracts
import Foundation
import Logging
import ServiceKit

/// Finds out who somebody is by an identity token, for signing in and for linking.
struct AppleProofs: Sendable {
    let verifier: AppleTokenVerifier
    let policy: AppleTokenPolicy
    let issuer: AppleNonceIssuer
    let nonces: NonceStore
    let transfers: AppleTransferStore
    let logger: Logger

    /// - Parameter nonce: the nonce of the request, raw.
    /// - Returns: the proof, and the nonce that has to be used up with it.
    /// - Throws: `INVALID_APPLE_TOKEN`; `UNAVAILABLE` when Apple's keys cannot be had.
    func prove(
        _ identityToken: String, nonce: String?, context: GatehouseRequestContext
    ) async throws -> (AppleProof, NonceUse?) {
        guard nonce.map({ $0.utf8.count <= AppleNonceIssuer.maximumLength }) ?? true else {
            throw Problem.invalid("nonce", "The nonce is longer than \(AppleNonceIssuer.maximumLength) characters.")
        }
        guard let claims = try await verifier.claims(AppleIdentityClaims.self, of: identityToken) else {
            throw Problem(.invalidAppleToken)
        }
        let now = Int64(Date.now.timeIntervalSince1970)
        do {
            try policy.check(claims, nonce: nonce, now: now)
        } catch {
            logger.info("An Apple token was refused", metadata: ["reason": "\(error.rawValue)"])
            throw Problem(.invalidAppleToken)
        }
        let use = try nonce.flatMap { nonce in
            try lastUse(of: nonce, in: claims, now: now).map {
                NonceUse(of: nonce, with: identityToken, expiresAt: $0)
            }
        }
        if let use {
            guard try await !nonces.isSpent(use, deadline: context.deadline.forDatabase) else {
                throw Problem(.invalidAppleToken)
            }
        }
        let proof = AppleProof(claims)
        try await transfers.adopt(proof, deadline: context.deadline.forDatabase)
        return (proof, use)
    }

    /// Until when a nonce that serves once has to be remembered; `nil` for one that only has to match.
    private func lastUse(of nonce: String, in claims: AppleIdentityClaims, now: Int64) throws(Problem) -> Int64? {
        switch issuer.judge(nonce, now: now) {
        case .ours(let expiresAt): expiresAt
        case .notOurs: policy.nonceRule == .required ? policy.end(of: claims) : nil
        case .invalid: throw Problem(.invalidAppleToken)
        }
    }
}
