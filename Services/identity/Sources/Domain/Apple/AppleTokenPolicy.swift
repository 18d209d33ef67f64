import Foundation
import Verbatim

/// Which of Apple's identity tokens count, once their signature has been found good.
struct AppleTokenPolicy: Sendable {
    /// Apple's two names. The second appeared unannounced in June 2025.
    static let appleIssuers: Set<VerbatimString> = ["https://appleid.apple.com", "https://account.apple.com"]

    enum NonceRule: String, CaseIterable, Sendable {
        /// Where the request or the token carries one, they must match.
        case optional
        /// A sign-in without one is refused, and each serves once, the app's own too.
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

    /// Why a token does not count: for the log, never for the client.
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

    /// From when on a token that was found good is too old, in seconds since 1970.
    func end(of claims: AppleIdentityClaims) -> Int64 {
        claims.issuedAt + maximumAge + 1
    }

    private func checkNonce(of claims: AppleIdentityClaims, against nonce: String?) throws(Flaw) {
        switch (nonce, claims.nonce) {
        case (nil, nil):
            if nonceRule == .required { throw .nonceMissing }
        case (let raw?, let claimed?):
            // The app gives Apple either the value itself or, as Apple's samples do, its SHA-256.
            guard claimed.isVerbatim(raw) || claimed.lowercased().isVerbatim(sha256Hex(raw)) else {
                throw .nonceMismatch
            }
        case (_?, nil):
            // Platforms where Apple cannot carry a nonce say so.
            guard nonceRule == .optional, claims.nonceSupported == false else { throw .nonceMissing }
        case (nil, _?):
            throw .nonceMissing
        }
    }
}
