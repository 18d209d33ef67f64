import Bytes
import Contracts
import Foundation
import Hummingbird
import Limits
import Logging
import ServiceKit

/// Sign in with Apple. Only linking requires an access token.
struct AppleRoutes: Sendable {
    let signIn: AppleSignIn
    let nonces: AppleNonceIssuer
    let limits: AttemptLimits
    let linking: AppleLinking
    let notifications: AppleNotifications

    func add(to router: ServiceRouter) {
        router.post("/v1/auth/apple") { request, context in
            let auth = try await signIn(request.decode(AppleSignInRequest.self), context: context)
            return try Response.json(auth, holdsToken: true)
        }
        router.post("/v1/auth/apple/nonce") { request, context in
            _ = try await request.decode(NoFields.self)
            try await limits.admit(.apple, from: context.clientAddress)
            let nonce = nonces.issue(now: Int64(Date.now.timeIntervalSince1970))
            return try Response.json(
                AppleNonceResponse(nonce: nonce, expiresIn: Int(AppleNonceIssuer.lifetime)), holdsToken: true)
        }
        router.post("/v1/auth/apple/notifications") { request, context in
            try await notifications(request.decode(AppleNotificationRequest.self))
            return Response.empty(.ok)
        }
        router.post("/v1/auth/identities/apple") { request, context in
            let user = try context.requireUser()
            return try await Response.json(
                linking(request.decode(LinkAppleRequest.self), to: user, context: context))
        }
    }
}

/// Sign in with Apple (`POST /v1/auth/apple`).
struct AppleSignIn: Sendable {
    let identities: AppleIdentityStore
    let grants: AppleGrantStore
    let nonces: AppleNonceStore
    let proofs: AppleProofs
    let sessions: SessionIssuer
    let limits: AttemptLimits
    let worker: OutboxWorker
    /// Whether the team has a key of its own at Apple. Without one an authorization code is of no use.
    let exchangesCodes: Bool
    /// Redirect URIs that are allowed on the web.
    let redirectURIs: Set<VerbatimString>
    let logger: Logger

    func callAsFunction(_ request: AppleSignInRequest, context: GatehouseRequestContext) async throws -> AuthResponse {
        let device = try request.device?.checked()
        if let code = request.authorizationCode, code.utf8.count > 4096 {
            throw Problem.invalid("authorizationCode", "This is not a code from Apple.")
        }
        if let uri = request.redirectUri, !redirectURIs.contains(uri) {
            throw Problem.invalid("redirectUri", "This address is not one of the team's.")
        }
        try await limits.admit(.apple, from: context.clientAddress)
        let (proof, nonce) = try await proofs.verify(request.identityToken, nonce: request.nonce)
        let name = DisplayName.fromApple(
            givenName: request.fullName?.givenName, familyName: request.fullName?.familyName)
        let issued = try await sessions.issue(
            on: device, by: [.apple], context: context, refusal: Problem(.invalidAppleToken)
        ) {
            try await identities.signIn(proof, name: name)
        }
        try await use(nonce, for: issued)
        await keep(request.authorizationCode, for: request.redirectUri, of: issued.account, from: proof)
        return issued.auth
    }

    /// Uses the nonce up as the last step, so that an attempt that failed earlier can be repeated. If two identity
    /// tokens reach this step with one nonce, the session of the second is revoked.
    private func use(_ nonce: NonceUse?, for issued: SessionIssuer.Issued) async throws {
        guard let nonce else { return }
        let isFirst: Bool
        do {
            isFirst = try await nonces.use(nonce)
        } catch {
            await sessions.revokeUnused(issued.sessionID)
            throw error
        }
        if !isFirst {
            await sessions.revokeUnused(issued.sessionID)
            throw Problem(.invalidAppleToken)
        }
    }

    /// Enqueues the exchange of the code for Apple's refresh token, which is revoked when the user's account is
    /// deleted. A failure must not fail or delay the sign-in.
    private func keep(
        _ code: String?, for redirectURI: String?, of account: Account, from proof: AppleProof
    ) async {
        guard exchangesCodes, let code, !code.isEmpty else { return }
        let grant = AppleGrant(
            clientID: proof.clientID, kind: .authorizationCode, secret: code, redirectURI: redirectURI)
        do {
            // The session exists, so the exchange is enqueued even if the request's deadline has passed.
            try await Deadline.with(nil) {
                try await grants.enqueueExchange(of: grant, subject: proof.subject, userID: account.id)
            }
            worker.wake()
        } catch {
            logger.warning("An authorization code was not stored", metadata: ["error": "\(error)"])
        }
    }
}

/// Links an Apple account to the account of a signed-in user (`POST /v1/auth/identities/apple`).
struct AppleLinking: Sendable {
    let identities: AppleIdentityStore
    let proofs: AppleProofs
    let limits: AttemptLimits
    let age: AuthenticationAge
    let notices: AccountNotices
    let worker: OutboxWorker

    /// - Throws: `REAUTHENTICATION_REQUIRED`; `IDENTIFIER_TAKEN` when the Apple account belongs to another user, or the
    ///   user has another one.
    func callAsFunction(
        _ request: LinkAppleRequest, to user: ForwardedUser, context: GatehouseRequestContext
    ) async throws -> User {
        try age.require(user)
        try await limits.admit(.apple, from: context.clientAddress)
        let (proof, nonce) = try await proofs.verify(request.identityToken, nonce: request.nonce)
        let outcome = try await identities.link(proof, to: user.id, using: nonce, notices: notices)
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

/// Verifies the account that an Apple account is linked to, for a signed-in user.
struct AppleAccountProofs: Sendable {
    let identities: AppleIdentityStore
    let nonces: AppleNonceStore
    let proofs: AppleProofs
    let limits: AttemptLimits
    let age: AuthenticationAge

    /// - Throws: `INVALID_APPLE_TOKEN`, also for the token of another Apple account and for a token that was not issued
    ///   recently.
    func account(
        of subject: ProofSubject, verifiedBy identityToken: String, nonce: String?, context: GatehouseRequestContext
    ) async throws -> Account {
        try await limits.admit(.apple, from: context.clientAddress)
        let (proof, nonce) = try await proofs.verify(identityToken, nonce: nonce)
        // A sign-in accepts a token for an hour. Here an hour-old token would count as recent authentication.
        guard age.accepts(proof.issuedAt, now: .now) else { throw Problem(.invalidAppleToken) }
        guard let account = try await identities.account(subject: proof.subject)?.account, subject.accepts(account)
        else {
            throw Problem(.invalidAppleToken, "This is not the Apple account of this user.")
        }
        // Before anything is changed. A repetition within a minute is accepted, because the response may have been
        // lost.
        if let nonce, try await !nonces.use(nonce) { throw Problem(.invalidAppleToken) }
        return account
    }
}
