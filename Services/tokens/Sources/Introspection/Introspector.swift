import AccessToken
import Foundation
import Postgres

/// Tells whether a token is active (RFC 7662). Asking changes nothing: not even a stolen token ends its session here.
struct Introspector: Sendable {
    let rules: RotationRules
    let keys: RefreshKeyRing
    let accessTokens: AccessTokenReader
    let store: SessionStore
    let issuer: String
    let clientID: String

    /// - Returns: `nil` for a token that is not active, whatever the reason.
    /// - Throws: `Problem`, `PostgresError` when it cannot be found out.
    func introspect(
        _ text: String, deadline: ContinuousClock.Instant
    ) async throws -> Introspection? {
        if let token = RefreshToken(text: text) { return try await introspect(token, deadline: deadline) }
        guard let claims = try accessTokens.genuineClaims(of: text),
            let session = try await store.read(claims.sessionID, deadline: deadline), claims.isLive(in: session)
        else { return nil }
        return Introspection(
            use: .accessToken, issuer: claims.issuer, clientID: claims.clientID, subject: claims.subject,
            sessionID: claims.sessionID, issuedAt: claims.issuedAt, expiresAt: claims.expiresAt,
            audience: claims.audience, tokenID: claims.tokenID, role: claims.role, storeIDs: claims.storeIDs,
            authenticationTime: claims.authenticationTime,
            authenticationMethods: claims.authenticationMethods.isEmpty ? nil : claims.authenticationMethods)
    }

    /// A refresh token is active if a refresh with it would succeed.
    private func introspect(
        _ token: RefreshToken, deadline: ContinuousClock.Instant
    ) async throws(PostgresError) -> Introspection? {
        let authenticity = token.authenticity(under: keys)
        guard authenticity != .forged, let session = try await store.read(token.sessionID, deadline: deadline) else {
            return nil
        }
        let presented = RotationRules.Presented(
            generation: token.generation, hash: token.hash, isGenuine: authenticity == .genuine)
        let issuedAt: Int64?
        switch rules.decide(on: presented, of: session.state, at: session.grant.now) {
        case .rotate: issuedAt = Int64(session.state.rotatedAt.timeIntervalSince1970)
        case .repeatSuccessor, .countLateReplay: issuedAt = nil
        case .revoke, .tryLater, .refuse: return nil
        }
        return Introspection(
            use: .refreshToken, issuer: issuer, clientID: clientID, subject: session.grant.user.id,
            sessionID: token.sessionID, issuedAt: issuedAt,
            expiresAt: Int64(session.state.expiresAt.timeIntervalSince1970))
    }
}
