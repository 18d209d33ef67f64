import AccessToken
import Contracts
import Foundation

/// Reads the service's own access tokens, by the keys that it publishes at the moment.
struct AccessTokenReader: Sendable {
    let keys: SigningKeyStore

    /// What a token says that this service signed, whether it has expired or not: that is for PostgreSQL's clock to
    /// say. `nil` for anything else.
    ///
    /// - Throws: `UNAVAILABLE` when OpenSSL fails for a reason of its own, which says nothing of the token.
    func genuineClaims(of text: String) throws(Problem) -> AccessTokenClaims? {
        do {
            // Nothing has expired at the beginning of time.
            return try keys.verifier.verify(text, now: 0)
        } catch {
            if error.code == .cryptography { throw Problem(.unavailable) }
            return nil
        }
    }
}

extension AccessTokenClaims {
    /// Whether the session is the token's, and neither of the two has ended.
    func isLive(in session: SessionStore.Reading) -> Bool {
        session.grant.user.id == subject && session.grant.now < session.state.expiresAt
            && session.grant.now.timeIntervalSince1970 < Double(expiresAt)
    }
}
