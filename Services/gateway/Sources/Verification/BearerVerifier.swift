import AccessToken
import Bytes
import Contracts
import Foundation
import TokenValidation

/// Verifies bearers on one event loop: with the cache of verified tokens if possible, otherwise with the key.
final class BearerVerifier {
    enum Verification {
        case accepted(VerifiedToken)
        case refused(ErrorCode)
        /// The token's key is unknown and being fetched.
        case waitsForKeys
    }

    private let keys: KeyStore<TrustedIssuer>
    private let revoked: RevokedSessions
    private var snapshot: KeyStore<TrustedIssuer>.Snapshot
    private var cache: TokenCache
    /// Whether the last verified token was found in the cache.
    private(set) var didFindLast = false

    init(keys: KeyStore<TrustedIssuer>, revoked: RevokedSessions, cacheCapacity: Int) {
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
            case .failure(let error): return verification(after: error, indices, now: now)
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

    /// Whether a token that was accepted before is still valid.
    func accepts(_ token: VerifiedToken, now: Int64) -> Bool {
        now < token.expiresAt
            && token.ownSession.map { revoked.status(of: $0, now: now) == .live } ?? true
    }

    /// Whether the keys that verified the token are still its issuer's.
    private func isCurrent(_ token: VerifiedToken) -> Bool {
        token.generation == snapshot.sources[token.issuerIndex].generation
    }

    /// Tries the issuers that have a key with the token's `kid`. Two issuers may use the same key identifier.
    private func verifyAnew(
        _ token: UnsafeRawBufferPointer, _ indices: [Int], now: Int64
    ) -> Result<VerifiedToken, AccessTokenError> {
        let bytes = Array(token)
        var failure = AccessTokenError(.unknownKey, "No issuer has the token's key.")
        for index in indices {
            let source = snapshot.sources[index]
            guard let verifier = source.verifier, source.isUsable(now: now) else { continue }
            do {
                return .success(
                    try verifier.verify(
                        bytes, now: now, issuerIndex: index, generation: source.generation, leeway: keys.leeway))
            } catch {
                if failure.code == .unknownKey { failure = error }
            }
        }
        return .failure(failure)
    }

    private func verification(after error: AccessTokenError, _ indices: [Int], now: Int64) -> Verification {
        switch error.code {
        case .expired: return .refused(.tokenExpired)
        case .cryptography: return .refused(.unavailable)
        case .unknownKey:
            let sources = indices.map { snapshot.sources[$0] }
            // The request does not wait: without usable keys, the gateway already fetches them continuously.
            guard sources.contains(where: { $0.isUsable(now: now) }) else { return .refused(.unavailable) }
            if keys.demandFetch(of: indices, now: now) { return .waitsForKeys }
            // The key may belong to an issuer whose keys are missing or too old.
            let isKnown = sources.allSatisfy { $0.isUsable(now: now) && !$0.didLastFetchFail }
            return .refused(isKnown ? .invalidToken : .unavailable)
        default: return .refused(.invalidToken)
        }
    }
}

extension AccessTokenClaims {
    /// The field lines that identify the user to a service.
    ///
    /// - Parameter isForeign: whether another issuer than Gatehouse issued the token.
    func identityLines(isForeign: Bool) -> [UInt8] {
        var lines: [UInt8] = []
        lines.reserveCapacity(320)
        lines.appendLine(HeaderName.userID) { $0.append(subject) }
        lines.appendLine(HeaderName.sessionID) { $0.append(sessionID) }
        lines.appendLine(HeaderName.role) { $0.append(role, keeping: .visible) }
        lines.appendLine(HeaderName.storeIDs) { $0.append(storeIDs) }
        if let authenticationTime {
            lines.appendLine(HeaderName.authenticationTime) { $0 += String(authenticationTime).utf8 }
        }
        if !authenticationMethods.isEmpty {
            lines.appendLine(HeaderName.authenticationMethods) { $0.append(authenticationMethods) }
        }
        // The user is not Gatehouse's, so the service needs the issuer too.
        if isForeign { lines.appendIssuer(issuer) }
        return lines
    }
}

extension ExternalTokenClaims {
    /// The field lines that identify the user to a service.
    var identityLines: [UInt8] {
        var lines: [UInt8] = []
        lines.appendLine(HeaderName.externalIssuer) { $0.append(issuer, keeping: .unescaped) }
        lines.appendLine(HeaderName.externalSubject) { $0.append(subject, keeping: .unescaped) }
        if !roles.isEmpty { lines.appendLine(HeaderName.externalRoles) { $0.append(roles) } }
        lines.appendIssuer(issuer)
        return lines
    }
}

extension VerifiedToken {
    /// The lines for the forwarded claims that the token has. `email` is always accompanied by `email_verified`,
    /// because a user can enter any address.
    func lines(of forwarded: [ForwardedClaim]) -> [UInt8] {
        var lines: [UInt8] = []
        var claims = forwarded.filter { $0 != .emailVerified }
        if claims.count < forwarded.count || claims.contains(.email) { claims.append(.emailVerified) }
        for claim in claims {
            guard !(claim == .issuer && isForeign), let value = value(of: claim) else { continue }
            lines.appendLine(claim.field) { $0.append(value, keeping: .unescaped) }
        }
        return lines
    }
}

extension ForwardedClaim {
    /// The field that carries the claim.
    fileprivate var field: String {
        switch self {
        case .email: HeaderName.claimEmail
        case .emailVerified: HeaderName.claimEmailVerified
        case .clientID: HeaderName.claimClientID
        case .tokenID: HeaderName.claimTokenID
        case .issuer: HeaderName.claimIssuer
        case .issuedAt: HeaderName.claimIssuedAt
        case .expiresAt: HeaderName.claimExpiresAt
        }
    }
}

extension ByteSet {
    fileprivate static let plain = ByteSet(.alphanumeric, "-._~")
    fileprivate static let visible = ByteSet(.visible, "")
    /// Bytes that need no escape where `%` begins one.
    fileprivate static let unescaped = ByteSet(.alphanumeric, "!#$&'()*+,-./:;=?@[]^_`{|}~")
}

extension [UInt8] {
    fileprivate mutating func appendLine(_ name: String, _ value: (inout [UInt8]) -> Void) {
        self += name.utf8
        self += ": ".utf8
        value(&self)
        self += "\r\n".utf8
    }

    fileprivate mutating func appendIssuer(_ issuer: String) {
        appendLine(ForwardedClaim.issuer.field) { $0.append(issuer, keeping: .unescaped) }
    }

    /// Appends a list, separated by commas.
    fileprivate mutating func append(_ texts: [String]) {
        for (index, text) in texts.enumerated() {
            if index > 0 { append(UInt8(ascii: ",")) }
            append(text, keeping: .plain)
        }
    }

    /// In lower case. `uuidString` formats like C's `printf`, and each new token would pay for it twice.
    fileprivate mutating func append(_ uuid: UUID) {
        Swift.withUnsafeBytes(of: uuid.uuid) { bytes in
            for (index, byte) in bytes.enumerated() {
                if index == 4 || index == 6 || index == 8 || index == 10 { append(UInt8(ascii: "-")) }
                append(Self.digits[Int(byte >> 4)])
                append(Self.digits[Int(byte & 15)])
            }
        }
    }

    private static let digits = Array("0123456789abcdef".utf8)

    /// Appends `text` with every byte escaped that is not one of `kept`.
    fileprivate mutating func append(_ text: String, keeping kept: ByteSet) {
        for byte in text.utf8 {
            if kept.contains(byte) {
                append(byte)
            } else {
                self += "%\(byte < 16 ? "0" : "")\(String(byte, radix: 16, uppercase: true))".utf8
            }
        }
    }
}
