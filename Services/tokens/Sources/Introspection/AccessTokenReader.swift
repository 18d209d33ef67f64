import AccessToken
import Contracts
import Foundation

/// Verifies the service's own access tokens with the keys that it publishes at the moment.
struct AccessTokenReader: Sendable {
    let keys: SigningKeyStore

    /// The claims of a token that this service signed, expired or not: whether it has expired is decided by
    /// PostgreSQL's clock. `nil` for any other token.
    ///
    /// - Throws: `UNAVAILABLE` when OpenSSL itself fails, so that nothing is known of the token.
    func genuineClaims(of text: String) throws(Problem) -> AccessTokenClaims? {
        do {
            // At second 0 no token has expired yet.
            return try keys.verifier.verify(text, now: 0)
        } catch {
            if error.code == .cryptography { throw Problem(.unavailable) }
            return nil
        }
    }
}

extension AccessTokenClaims {
    /// Whether the session is the token's, and neither of the two has expired.
    func isLive(in session: SessionRecord) -> Bool {
        session.grant.user.id == subject && session.grant.now < session.state.expiresAt
            && session.grant.now.timeIntervalSince1970 < Double(expiresAt)
    }
}
