import Bytes
import Foundation

/// Which of Apple's identity tokens are accepted, once their signature has been verified.
struct AppleTokenPolicy: Sendable {
    /// Apple's two issuers. The second appeared unannounced in June 2025.
    static let appleIssuers: Set<VerbatimString> = ["https://appleid.apple.com", "https://account.apple.com"]

    enum NonceRule: String, CaseIterable, Sendable {
        /// If the request or the token carries a nonce, both must, and they must match.
        case optional
        /// A sign-in without a nonce is refused. Each nonce serves once, also those that the app has chosen.
        case required
    }

    var issuers: Set<VerbatimString>
    /// The app's bundle and service identifiers.
    var clientIDs: Set<VerbatimString>
    var nonceRule: NonceRule
    /// Seconds since it was issued after which a token no longer proves presence.
    var maximumAge: Int64 = 3600
    /// Seconds by which Apple's clock and ours may differ.
    var clockSkew: Int64 = 60

    /// Why a token is refused. It is logged, and not told to the client.
    enum Flaw: String, Error, Equatable {
        case issuer, audience, subject, expired, issuedInFuture, tooOld, nonceMissing, nonceMismatch
    }

    /// - Parameters:
    ///   - nonce: the nonce of the request, raw.
    ///   - now: seconds since 1970.
    func check(_ claims: AppleIdentityClaims, nonce: String?, now: Int64) throws(Flaw) {
        guard issuers.contains(claims.issuer) else { throw .issuer }
        guard clientIDs.contains(claims.audience) else { throw .audience }
        guard (1...255).contains(claims.subject.utf8.count) else { throw .subject }
        let (age, overflow) = now.subtractingReportingOverflow(claims.issuedAt)
        guard !overflow, age >= -clockSkew else { throw .issuedInFuture }
        guard age <= maximumAge else { throw .tooOld }
        guard claims.expiresAt > now - clockSkew else { throw .expired }
        try checkNonce(of: claims, against: nonce)
    }

    /// From when on a token is too old, in seconds since 1970.
    func end(of claims: AppleIdentityClaims) -> Int64 {
        claims.issuedAt + maximumAge + 1
    }

    private func checkNonce(of claims: AppleIdentityClaims, against nonce: String?) throws(Flaw) {
        switch (nonce, claims.nonce) {
        case (nil, nil):
            if nonceRule == .required { throw .nonceMissing }
        case (let raw?, let claimed?):
            // The app gives Apple the nonce itself or, as in Apple's samples, its SHA-256.
            guard claimed.isVerbatim(raw) || claimed.lowercased().isVerbatim(sha256Hex(raw)) else {
                throw .nonceMismatch
            }
        case (_?, nil):
            // On platforms where Apple does not support nonces the token says so.
            guard nonceRule == .optional, claims.nonceSupported == false else { throw .nonceMissing }
        case (nil, _?):
            throw .nonceMissing
        }
    }
}
