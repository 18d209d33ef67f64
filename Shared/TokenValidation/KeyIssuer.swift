package import AccessToken

/// Whoever's access tokens are good, as far as its keys are concerned.
package protocol KeyIssuer: Sendable {
    /// What reads its tokens.
    associatedtype Verifier: Sendable

    /// `iss`
    var issuer: String { get }

    /// - Parameters:
    ///   - keys: those that it has at the moment.
    ///   - leeway: seconds by which `exp` and `nbf` may be missed.
    /// - Throws: `cryptography`, when OpenSSL does not take a key.
    func verifier(with keys: VerificationKeySet, leeway: Int64) throws(AccessTokenError) -> Verifier
}
