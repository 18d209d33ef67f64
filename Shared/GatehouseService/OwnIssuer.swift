import AccessToken
import TokenValidation

/// Gatehouse, whose access tokens are verified.
struct OwnIssuer: KeyIssuer {
    /// `iss`
    var issuer: String
    /// `aud`
    var audience: String

    func verifier(with keys: VerificationKeySet, leeway: Int64) throws(AccessTokenError) -> AccessTokenVerifier {
        try AccessTokenVerifier(issuer: issuer, audience: audience, keys: keys, leeway: leeway)
    }
}
