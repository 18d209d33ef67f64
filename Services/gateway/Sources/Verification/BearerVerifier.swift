import AccessToken
import Contracts

/// Judges bearers on one event loop: from the cache of verified tokens where it can, with the key where it must.
final class BearerVerifier {
    enum Verdict {
        case accepted(VerifiedToken)
        case refused(ErrorCode)
        /// The token's key is not known yet, and is being fetched.
        case waitsForKeys
    }

    private let keys: KeyStore
    private let revoked: RevokedSessions
    private var snapshot: KeyStore.Snapshot
    private var cache: TokenCache
    private var counts = (hits: 0, misses: 0)

    init(keys: KeyStore, revoked: RevokedSessions, cacheCapacity: Int) {
        self.keys = keys
        self.revoked = revoked
        snapshot = keys.snapshot
        cache = TokenCache(capacity: cacheCapacity)
    }

    /// - Parameters:
    ///   - token: the text after `Bearer`.
    ///   - now: seconds since 1970.
    func verify(_ token: UnsafeRawBufferPointer, now: Int64) -> Verdict {
        if keys.version != snapshot.version { snapshot = keys.snapshot }
        let digest = TokenCache.Digest(token)
        let verified: VerifiedToken
        if let known = cache.token(digest, generation: snapshot.generation, now: now) {
            guard snapshot.sources[known.issuerPlace].isUsable(now: now) else { return .refused(.unavailable) }
            counts.hits += 1
            verified = known
        } else {
            counts.misses += 1
            switch verifyAnew(token, now: now) {
            case .success(let token): verified = token
            case .failure(let error): return verdict(on: error, now: now)
            }
            cache.insert(verified, as: digest)
        }
        switch revoked.verdict(on: verified.sessionID, now: now) {
        case .live: return .accepted(verified)
        case .revoked: return .refused(.invalidToken)
        case .unknown: return .refused(.unavailable)
        }
    }

    /// Whether a token that was accepted once still would be.
    func accepts(_ token: VerifiedToken, now: Int64) -> Bool {
        now < token.expiresAt && revoked.verdict(on: token.sessionID, now: now) == .live
    }

    /// Tokens that were found in the cache, and not, since this was asked last.
    func takeCounts() -> (hits: Int, misses: Int) {
        defer { counts = (0, 0) }
        return counts
    }

    /// The issuers are asked in turn who knows the token's key.
    private func verifyAnew(_ token: UnsafeRawBufferPointer, now: Int64) -> Result<VerifiedToken, AccessTokenError> {
        let bytes = Array(token)
        for (place, source) in snapshot.sources.enumerated() {
            guard let verifier = source.verifier, source.isUsable(now: now) else { continue }
            do {
                let claims = try verifier.verify(bytes, now: now)
                return .success(
                    VerifiedToken(claims, issuerPlace: place, generation: snapshot.generation, leeway: keys.leeway))
            } catch  where error.code == .unknownKey {
                continue
            } catch {
                return .failure(error)
            }
        }
        return .failure(AccessTokenError(.unknownKey, "No issuer has the token's key."))
    }

    private func verdict(on error: AccessTokenError, now: Int64) -> Verdict {
        switch error.code {
        case .expired: return .refused(.tokenExpired)
        case .cryptography: return .refused(.unavailable)
        case .unknownKey:
            // It may be a key of those that are not there, or too old.
            guard snapshot.sources.allSatisfy({ $0.isUsable(now: now) }) else { return .refused(.unavailable) }
            if keys.demandFetch(now: now) { return .waitsForKeys }
            return .refused(snapshot.sources.contains(where: \.didLastFetchFail) ? .unavailable : .invalidToken)
        default: return .refused(.invalidToken)
        }
    }
}
