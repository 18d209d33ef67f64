import Contracts
import Foundation
import Logging
import ServiceKit

/// Sign in with Apple (`POST /v1/auth/apple`).
struct AppleSignIn: Sendable {
    let accounts: AccountStore
    let outbox: OutboxStore
    let worker: OutboxWorker
    let nonces: NonceStore
    let issuer: AppleNonceIssuer
    let verifier: AppleTokenVerifier
    let policy: AppleTokenPolicy
    let sessions: SessionIssuer
    let limits: AttemptLimits
    let sealer: Sealer
    /// Whether the team has a key of its own with Apple, without which a code is of no use.
    let exchangesCodes: Bool
    let logger: Logger

    func callAsFunction(_ request: AppleSignInRequest, context: GatehouseRequestContext) async throws -> AuthResponse {
        let device = try request.device?.checked()
        if let code = request.authorizationCode, code.utf8.count > 4096 {
            throw Problem.invalid("authorizationCode", "This is not a code from Apple.")
        }
        try await limits.admit(.apple, from: context.clientAddress)
        let (proof, nonce) = try await prove(request.identityToken, nonce: request.nonce, context: context)
        let name = DisplayName.fromApple(
            givenName: request.fullName?.givenName, familyName: request.fullName?.familyName)
        for _ in 0..<3 {
            let account = try await accounts.signIn(apple: proof, name: name, deadline: context.deadline.forDatabase)
            let issued = try await sessions.issue(
                for: account, device: device, context: context, refusal: Problem(.invalidAppleToken))
            guard let issued else { continue }
            try await use(nonce, for: issued, context: context)
            await keep(request.authorizationCode, of: account, from: proof)
            return issued.auth
        }
        throw Problem(.unavailable)
    }

    /// Who Apple says it is.
    /// - Returns: the proof, and the nonce that has to be used up with it.
    func prove(
        _ identityToken: String, nonce: String?, context: GatehouseRequestContext
    ) async throws -> (AppleProof, NonceUse?) {
        guard nonce.map({ $0.utf8.count <= AppleNonceIssuer.longestOfAnybody }) ?? true else {
            throw Problem.invalid("nonce", "The nonce is longer than \(AppleNonceIssuer.longestOfAnybody) characters.")
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
        guard let nonce, let expiresAt = try lastUse(of: nonce, in: claims, now: now) else {
            return (AppleProof(claims), nil)
        }
        let use = NonceUse(of: nonce, with: identityToken, expiresAt: expiresAt)
        guard try await !nonces.isSpent(use, deadline: context.deadline.forDatabase) else {
            throw Problem(.invalidAppleToken)
        }
        return (AppleProof(claims), use)
    }

    /// Until when a nonce that serves once has to be remembered; `nil` for one that only has to match.
    private func lastUse(of nonce: String, in claims: AppleIdentityClaims, now: Int64) throws(Problem) -> Int64? {
        switch issuer.judge(nonce, now: now) {
        case .ours(let expiresAt): expiresAt
        case .notOurs: policy.nonceRule == .required ? policy.end(of: claims) : nil
        case .invalid: throw Problem(.invalidAppleToken)
        }
    }

    /// Uses the nonce up, last of all, so that an attempt that failed half-way can be repeated. Of two identity tokens
    /// that came this far with one nonce the second loses its session.
    private func use(_ nonce: NonceUse?, for issued: SessionIssuer.Issued, context: GatehouseRequestContext)
        async throws
    {
        guard let nonce else { return }
        let isFirst: Bool
        do {
            isFirst = try await nonces.use(nonce, deadline: context.deadline.forDatabase)
        } catch {
            await sessions.takeBack(issued.sessionID)
            throw error
        }
        if !isFirst {
            await sessions.takeBack(issued.sessionID)
            throw Problem(.invalidAppleToken)
        }
    }

    /// Has the code exchanged for Apple's refresh token, with which the user can later be signed off at Apple. Nothing
    /// about it may fail or delay the sign-in.
    private func keep(_ code: String?, of account: Account, from proof: AppleProof) async {
        guard exchangesCodes, let code, !code.isEmpty else { return }
        let grant = AppleGrant(clientID: proof.clientID, kind: .authorizationCode, secret: code)
        do {
            try await OutboxStore.enqueue(
                .exchangeCode(subject: proof.subject), user: account.id, dueAtOnce: true, on: outbox.database,
                sealing: { try grant.sealed(by: sealer, for: $0) })
            worker.ring()
        } catch {
            logger.warning("An authorization code was not kept", metadata: ["error": "\(error)"])
        }
    }
}
