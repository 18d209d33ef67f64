import AccessToken
import Contracts
import Foundation
import Logging

/// Issues the tokens of an answer: signs the access token, and sets what expires when, by PostgreSQL's clock.
struct TokenIssuer: Sendable {
    let keys: SigningKeyStore
    let issuer: String
    let audience: String
    let clientID: String
    /// Seconds. Each access token lives up to 5 % less, at random: clients that signed in during the same minute then
    /// do not all refresh in the same minute.
    let accessLifetime: Int64
    let logger: Logger

    /// - Throws: `UNAVAILABLE` when OpenSSL cannot sign. The rotation is committed: the client asks again with the
    ///   token before, and gets the answer then.
    func issue(_ refreshToken: RefreshToken, for grant: SessionGrant) throws(Problem) -> IssuedTokens {
        let issuedAt = Int64(grant.now.timeIntervalSince1970.rounded(.down))
        let refreshExpiresAt = Int64(grant.expiresAt.timeIntervalSince1970.rounded(.down))
        let lifetime = accessLifetime - Int64.random(in: 0...accessLifetime / 20)
        let expiresAt = min(issuedAt + lifetime, refreshExpiresAt)
        let claims = AccessTokenClaims(
            issuer: issuer, audience: audience, subject: grant.user.id, sessionID: grant.sessionID,
            tokenID: .random(), issuedAt: issuedAt, expiresAt: expiresAt, clientID: clientID, role: grant.user.role,
            storeIDs: grant.user.storeIDs, email: grant.user.email,
            isEmailVerified: grant.user.isEmailVerified,
            authenticationTime: Int64(grant.authentication.time.timeIntervalSince1970.rounded(.down)),
            authenticationMethods: grant.authentication.methods)
        return IssuedTokens(
            sessionID: grant.sessionID, accessToken: try sign(claims), refreshToken: refreshToken.text,
            issuedAt: issuedAt, expiresAt: expiresAt, refreshExpiresAt: refreshExpiresAt, profile: grant.user.profile)
    }

    private func sign(_ claims: AccessTokenClaims) throws(Problem) -> String {
        do {
            return try keys.signer.sign(claims)
        } catch {
            logger.error(
                "An access token could not be signed.",
                metadata: ["session_id": "\(claims.sessionID)", "error": "\(error)"])
            throw Problem(.unavailable)
        }
    }
}

/// An answer with tokens. Times are seconds since 1970.
struct IssuedTokens: Sendable {
    var sessionID: UUID
    var accessToken: String
    var refreshToken: String
    var issuedAt: Int64
    var expiresAt: Int64
    var refreshExpiresAt: Int64
    /// The user as JSON.
    var profile: String

    /// Seconds.
    var expiresIn: Int64 { expiresAt - issuedAt }
    /// Seconds.
    var refreshExpiresIn: Int64 { refreshExpiresAt - issuedAt }
}
