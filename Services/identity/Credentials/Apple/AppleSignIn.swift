import Foundation
import GatehouseBytes
import GatehouseLimits
import GatehouseServiceContracts
import GatehouseServiceKit
import IdentityCore
import Logging

/// Sign in with Apple (`POST /v1/auth/apple`).
struct AppleSignIn: Sendable {
    let identities: AppleIdentityStore
    let grants: AppleGrantStore
    let nonceStore: AppleNonceStore
    let verifier: AppleVerifier
    let sessions: SessionIssuer
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
        let (token, singleUse) = try await verifier.verify(
            request.identityToken, nonce: request.nonce, context: context)
        let name = DisplayName.fromApple(
            givenName: request.fullName?.givenName, familyName: request.fullName?.familyName)
        // `issue` confirms each session that it creates.
        var unspent = singleUse
        let issued = try await sessions.issue(
            on: device, by: .apple(token.verifiedEmail), context: context, refusal: Problem(.invalidAppleToken)
        ) {
            try await identities.findOrCreateAccount(for: token, name: name)
        } confirm: {
            // After the session was created, so that a sign-in that failed earlier can be repeated.
            guard let nonce = unspent else { return }
            guard try await nonceStore.spend(nonce) else { throw Problem(.invalidAppleToken) }
            unspent = nil
        }
        await enqueueExchange(
            of: request.authorizationCode, for: request.redirectUri, from: token)
        worker.wake()
        return issued.auth
    }

    /// Enqueues the exchange of the code for Apple's refresh token, which is revoked when the user's account is
    /// deleted. A failure does not fail the sign-in.
    private func enqueueExchange(
        of code: String?, for redirectURI: String?, from token: VerifiedAppleToken
    ) async {
        guard exchangesCodes, let code, !code.isEmpty else { return }
        let grant = AppleGrant(
            clientID: token.clientID, kind: .authorizationCode, secret: code, redirectURI: redirectURI)
        do {
            // The session exists, so the exchange is enqueued even if the request's deadline has passed.
            try await Deadline.with(nil) {
                try await grants.enqueueExchange(of: grant, subject: token.subject)
            }
        } catch {
            logger.warning("An authorization code was not stored", metadata: ["error": "\(error)"])
        }
    }
}

extension DisplayName {
    /// The name that Apple's dialog gave the app, once and unsigned. The name must not fail a sign-in: characters that
    /// cannot be shown are left out, and a name that is too long is cut.
    static func fromApple(givenName: String?, familyName: String?) -> DisplayName? {
        let parts = [givenName, familyName].compactMap(\.self).map { part in
            var visible = String.UnicodeScalarView()
            visible.append(contentsOf: part.unicodeScalars.lazy.filter { !Text.isDeceptive($0) }.prefix(maximumBytes))
            return Text.trimmed(String(visible))
        }
        let joined = parts.filter { !$0.isEmpty }.joined(separator: " ")
        return try? read(String(joined.prefix(maximumLength)))
    }
}
