import AccessToken
import TokenValidation

extension TrustedIssuer: KeyIssuer {
    func verifier(with keys: VerificationKeySet, leeway: Int64) throws(AccessTokenError) -> TokenVerifier {
        try TokenVerifier(self, keys: keys, leeway: leeway)
    }
}

extension KeyStore where Issuer == TrustedIssuer {
    /// Of one issuer's keys.
    convenience init(issuer: String, audience: String, leeway: Int64 = 0) {
        self.init(issuers: [TrustedIssuer(issuer: issuer, audience: audience)], leeway: leeway)
    }
}
