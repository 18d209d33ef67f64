import AccessToken
import Bytes
import Contracts
import TokenValidation

/// Judges bearers on one event loop: from the cache of verified tokens where it can, with the key where it must.
final class BearerVerifier {
    enum Verdict {
        case accepted(VerifiedToken)
        case refused(ErrorCode)
        /// The token's key is not known yet, and is being fetched.
        case waitsForKeys
    }

    private let keys: KeyStore<TrustedIssuer>
    private let revoked: RevokedSessions
    private var snapshot: KeyStore<TrustedIssuer>.Snapshot
    private var cache: TokenCache
    /// Whether the token that was judged last was found in the cache.
    private(set) var didFindLast = false

    init(keys: KeyStore<TrustedIssuer>, revoked: RevokedSessions, cacheCapacity: Int) {
        self.keys = keys
        self.revoked = revoked
        snapshot = keys.snapshot
        cache = TokenCache(capacity: cacheCapacity)
    }

    /// - Parameters:
    ///   - token: the text after `Bearer`.
    ///   - issuers: those besides Gatehouse whose tokens are taken.
    ///   - now: seconds since 1970.
    func verify(_ token: UnsafeRawBufferPointer, from issuers: Set<VerbatimString> = [], now: Int64) -> Verdict {
        if keys.version != snapshot.version { snapshot = keys.snapshot }
        let digest = TokenCache.Digest(token)
        let verified: VerifiedToken
        didFindLast = false
        if let known = cache.token(digest, now: now, isCurrent: { isCurrent($0) }) {
            // On another route its users would be taken for Gatehouse's.
            guard !known.isForeign || issuers.contains(known.issuer) else { return .refused(.invalidToken) }
            guard snapshot.sources[known.issuerPlace].isUsable(now: now) else { return .refused(.unavailable) }
            didFindLast = true
            verified = known
        } else {
            let places = issuers.isEmpty ? [0] : keys.places(of: issuers)
            switch verifyAnew(token, places, now: now) {
            case .success(let token): verified = token
            case .failure(let error): return verdict(on: error, places, now: now)
            }
            cache.insert(verified, as: digest)
        }
        // The feed tells of Gatehouse's sessions alone.
        guard let session = verified.ownSession else { return .accepted(verified) }
        switch revoked.verdict(on: session, now: now) {
        case .live: return .accepted(verified)
        case .revoked: return .refused(.invalidToken)
        case .unknown: return .refused(.unavailable)
        }
    }

    /// Whether a token that was accepted once still would be.
    func accepts(_ token: VerifiedToken, now: Int64) -> Bool {
        now < token.expiresAt
            && token.ownSession.map { revoked.verdict(on: $0, now: now) == .live } ?? true
    }

    /// Whether the keys that vouched for the token are its issuer's still.
    private func isCurrent(_ token: VerifiedToken) -> Bool {
        token.generation == snapshot.sources[token.issuerPlace].generation
    }

    /// Tries the issuers that have a key of the token's `kid`. Two issuers may have given their keys the same name.
    private func verifyAnew(
        _ token: UnsafeRawBufferPointer, _ places: [Int], now: Int64
    ) -> Result<VerifiedToken, AccessTokenError> {
        let bytes = Array(token)
        var failure = AccessTokenError(.unknownKey, "No issuer has the token's key.")
        for place in places {
            let source = snapshot.sources[place]
            guard let verifier = source.verifier, source.isUsable(now: now) else { continue }
            do {
                return .success(
                    try verifier.verify(
                        bytes, now: now, place: place, generation: source.generation, leeway: keys.leeway))
            } catch {
                if failure.code == .unknownKey { failure = error }
            }
        }
        return .failure(failure)
    }

    private func verdict(on error: AccessTokenError, _ places: [Int], now: Int64) -> Verdict {
        switch error.code {
        case .expired: return .refused(.tokenExpired)
        case .cryptography: return .refused(.unavailable)
        case .unknownKey:
            let sources = places.map { snapshot.sources[$0] }
            // Without any keys they are being fetched all the time.
            guard sources.contains(where: { $0.isUsable(now: now) }) else { return .refused(.unavailable) }
            if keys.demandFetch(of: places, now: now) { return .waitsForKeys }
            // It may be a key of those that are not there, or too old.
            let isKnown = sources.allSatisfy { $0.isUsable(now: now) && !$0.didLastFetchFail }
            return .refused(isKnown ? .invalidToken : .unavailable)
        default: return .refused(.invalidToken)
        }
    }
}
