import AccessToken
import Contracts
import Foundation
import Synchronization

/// Reads the service's own access tokens, by the keys that it publishes at the moment.
final class AccessTokenReader: Sendable {
    private struct Present {
        var keys: VerificationKeySet
        var verifier: AccessTokenVerifier
    }

    private let keys: SigningKeyStore
    private let issuer: String
    private let audience: String
    private let present = Mutex<Present?>(nil)

    init(keys: SigningKeyStore, issuer: String, audience: String) {
        self.keys = keys
        self.issuer = issuer
        self.audience = audience
    }

    /// What a token says that this service signed, whether it has expired or not: that is for PostgreSQL's clock to
    /// say. `nil` for anything else.
    ///
    /// - Throws: `UNAVAILABLE` when OpenSSL fails for a reason of its own, which says nothing of the token.
    func genuineClaims(of text: String) throws(Problem) -> AccessTokenClaims? {
        do {
            // Nothing has expired at the beginning of time.
            return try verifier().verify(text, now: 0)
        } catch {
            if error.code == .cryptography { throw Problem(.unavailable) }
            return nil
        }
    }

    /// Made once for a set of keys, not once for a token.
    private func verifier() throws(AccessTokenError) -> AccessTokenVerifier {
        let published = keys.published
        if let present = present.withLock({ $0 }), present.keys == published { return present.verifier }
        let verifier = try AccessTokenVerifier(issuer: issuer, audience: audience, keys: published)
        present.withLock { $0 = Present(keys: published, verifier: verifier) }
        return verifier
    }
}

extension AccessTokenClaims {
    /// Whether the session is the token's, and neither of the two has ended.
    func isLive(in session: SessionStore.Reading) -> Bool {
        session.grant.user.id == subject && session.grant.now < session.state.expiresAt
            && session.grant.now.timeIntervalSince1970 < Double(expiresAt)
    }
}
