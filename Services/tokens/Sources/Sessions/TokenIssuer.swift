import Foundation
import GatehouseAccessTokens
import GatehouseBytes
import GatehouseServiceContracts
import Logging

/// Issues the tokens of a response: signs the access token, and sets expiry times by PostgreSQL's clock.
struct TokenIssuer: Sendable {
    let keys: SigningKeySource
    let issuer: String
    let audience: String
    let clientID: String
    /// Seconds. Each access token lives up to 5 % less, at random, so that clients that signed in during the same
    /// minute do not all refresh in the same minute.
    let accessLifetime: Int64
    let logger: Logger

    /// - Throws: `UNAVAILABLE` when OpenSSL cannot sign. The rotation is already committed, so the client retries with
    ///   the predecessor and gets the tokens then.
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

/// The tokens of a response. Times are seconds since 1970.
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

/// The contract's `AuthResponse`, written without an encoder. The user is stored as JSON, and nothing else in the
/// response needs escaping. An encoder would decode and encode the user at every refresh, which costs as much as a
/// database round trip.
extension IssuedTokens {
    var json: String {
        let end = UTCTime(secondsSince1970: expiresAt).rfc3339
        let refreshEnd = UTCTime(secondsSince1970: refreshExpiresAt).rfc3339
        return """
            {"accessToken":"\(accessToken)","expiresAt":"\(end)","expiresIn":\(expiresIn),\
            "refreshExpiresAt":"\(refreshEnd)","refreshExpiresIn":\(refreshExpiresIn),\
            "refreshToken":"\(refreshToken)","tokenType":"Bearer","user":\(profile)}
            """
    }

    /// RFC 6749 §5.1.
    var oauthJSON: String {
        """
        {"access_token":"\(accessToken)","expires_in":\(expiresIn),"refresh_token":"\(refreshToken)",\
        "token_type":"Bearer"}
        """
    }
}

extension UUID {
    /// A random identifier (RFC 9562 §5.4). `UUID()` opens the system's random device each time, which costs more than
    /// all other claims of an access token.
    static func random() -> UUID {
        var halves = (UInt64.random(in: 0 ... .max), UInt64.random(in: 0 ... .max))
        return withUnsafeMutableBytes(of: &halves) { bytes in
            bytes[6] = bytes[6] & 0x0f | 0x40
            bytes[8] = bytes[8] & 0x3f | 0x80
            return UUID(uuid: bytes.loadUnaligned(as: uuid_t.self))
        }
    }
}
