@testable import IdentityCredentials

extension VerifiedAppleToken {
    /// With an address that Apple vouches for, or none.
    static func sample(_ subject: String = "001", email: String? = nil) -> VerifiedAppleToken {
        VerifiedAppleToken(
            AppleIdentityClaims(
                issuer: "https://appleid.apple.com", subject: subject, audience: "com.example.app", issuedAt: 0,
                expiresAt: 0, email: email, emailVerified: email != nil))
    }
}
