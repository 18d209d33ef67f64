import Foundation
import GatehouseAccessTokens
import GatehouseBytes
import GatehouseServiceContracts
import GatehouseTokenValidation

/// Verifies bearers on one event loop: with the cache of verified tokens if possible, otherwise with the key.
final class CachingBearerVerifier {
    enum Verification {
        case accepted(VerifiedToken)
        case refused(ErrorCode)
        /// The token's key is unknown and being fetched.
        case waitsForKeys
    }

    private let keys: IssuerKeys<TrustedIssuer>
    private let revoked: RevokedSessions
    private var snapshot: IssuerKeys<TrustedIssuer>.Snapshot
    private var cache: TokenCache
    /// Whether the last verified token was found in the cache.
    private(set) var didFindLast = false

    init(keys: IssuerKeys<TrustedIssuer>, revoked: RevokedSessions, cacheCapacity: Int) {
        self.keys = keys
        self.revoked = revoked
        snapshot = keys.snapshot
        cache = TokenCache(capacity: cacheCapacity)
    }

    /// - Parameters:
    ///   - token: the text after `Bearer`.
    ///   - issuers: the accepted issuers besides Gatehouse.
    ///   - now: seconds since 1970.
    func verify(_ token: UnsafeRawBufferPointer, from issuers: Set<VerbatimString> = [], now: Int64) -> Verification {
        if keys.version != snapshot.version { snapshot = keys.snapshot }
        let digest = TokenCache.Digest(token)
        let verified: VerifiedToken
        didFindLast = false
        if let known = cache.token(digest, now: now, isCurrent: { isCurrent($0) }) {
            // The route does not name the issuer, and would mistake its users for Gatehouse's.
            guard !known.isForeign || issuers.contains(known.issuer) else { return .refused(.invalidToken) }
            guard snapshot.sources[known.issuerIndex].isUsable(now: now) else { return .refused(.unavailable) }
            didFindLast = true
            verified = known
        } else {
            let indices = issuers.isEmpty ? [0] : keys.indices(of: issuers)
            switch verifyAnew(token, indices, now: now) {
            case .success(let token): verified = token
            case .failure(let error):
                return verification(after: error, indices, now: now) ?? verify(token, from: issuers, now: now)
            }
            cache.insert(verified, as: digest)
        }
        // The feed contains only Gatehouse's sessions.
        guard let session = verified.ownSession else { return .accepted(verified) }
        switch revoked.status(of: session, now: now) {
        case .live: return .accepted(verified)
        case .revoked: return .refused(.invalidToken)
        case .unknown: return .refused(.unavailable)
        }
    }

    /// Why a stream that began with the token ends now, for the metric and the log; `nil` while the token is valid.
    func endOfStream(with token: VerifiedToken, now: Int64) -> String? {
        guard now < token.expiresAt else { return "stream outlived its token" }
        guard let session = token.ownSession else { return nil }
        switch revoked.status(of: session, now: now) {
        case .live: return nil
        case .revoked: return "stream of a revoked session"
        case .unknown: return "stream without a revocation feed"
        }
    }

    /// Whether the keys that verified the token are still its issuer's.
    private func isCurrent(_ token: VerifiedToken) -> Bool {
        token.generation == snapshot.sources[token.issuerIndex].generation
    }

    /// Tries all issuers, because two of them may use the same key identifier, or the same keys.
    ///
    /// Of their failures, the first of these decides: the token is outside its validity; OpenSSL failed; the key is
    /// unknown, or an issuer's keys are too old; any other.
    private func verifyAnew(
        _ token: UnsafeRawBufferPointer, _ indices: [Int], now: Int64
    ) -> Result<VerifiedToken, AccessTokenError> {
        let bytes = Array(token)
        let missingKey = AccessTokenError(.unknownKey, "No issuer has the token's key.")
        var failures: [AccessTokenError] = []
        for index in indices {
            let source = snapshot.sources[index]
            guard let verifier = source.verifier, source.isUsable(now: now) else {
                failures.append(missingKey)
                continue
            }
            do {
                return .success(
                    try verifier.verify(
                        bytes, now: now, issuerIndex: index, generation: source.generation, leeway: keys.leeway))
            } catch {
                failures.append(error)
            }
        }
        return .failure(failures.max { $0.code.precedence < $1.code.precedence } ?? missingKey)
    }

    /// - Returns: `nil`, when other keys have come meanwhile, so that the token is to be verified once more.
    private func verification(after error: AccessTokenError, _ indices: [Int], now: Int64) -> Verification? {
        switch error.code {
        case .expired: return .refused(.tokenExpired)
        case .cryptography: return .refused(.unavailable)
        case .unknownKey:
            let sources = indices.map { snapshot.sources[$0] }
            // The request does not wait: without usable keys, the gateway already fetches them continuously.
            guard sources.contains(where: { $0.isUsable(now: now) }) else { return .refused(.unavailable) }
            switch keys.demandFetch(of: indices, after: snapshot.version, now: now) {
            case .isFetching: return .waitsForKeys
            case .hasChanged: return nil
            case .isTooEarly:
                // The key may belong to an issuer whose keys are missing or too old.
                let isKnown = sources.allSatisfy { $0.isUsable(now: now) && !$0.didLastFetchFail }
                return .refused(isKnown ? .invalidToken : .unavailable)
            }
        default: return .refused(.invalidToken)
        }
    }
}

extension AccessTokenError.Code {
    /// Of the failures of several issuers, one with the highest precedence decides.
    fileprivate var precedence: Int {
        switch self {
        // The issuer's key and name were right.
        case .expired, .notYetValid: 3
        case .cryptography: 2
        case .unknownKey: 1
        default: 0
        }
    }
}
