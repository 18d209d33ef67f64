// Pure: no I/O, no clock.

import Crypto
import Foundation
import GatehouseBytes
import IdentityCore

/// The claims about a user in Apple's identity token (developer.apple.com, "Authenticating users with Sign in with
/// Apple").
struct AppleIdentityClaims: Sendable, Equatable, Decodable {
    var issuer: String
    var subject: String
    var audience: String
    var issuedAt: Int64
    var expiresAt: Int64
    var notBefore: Int64?
    var nonce: String?
    var nonceSupported: Bool?
    var email: String?
    var emailVerified: Bool
    var isPrivateEmail: Bool
    /// Present for 60 days after the app has moved to another team at Apple: the transfer identifier, which the former
    /// team knows too (TN3159).
    var transferSubject: String?

    enum CodingKeys: String, CodingKey {
        case issuer = "iss"
        case subject = "sub"
        case audience = "aud"
        case issuedAt = "iat"
        case expiresAt = "exp"
        case notBefore = "nbf"
        case nonce
        case nonceSupported = "nonce_supported"
        case email
        case emailVerified = "email_verified"
        case isPrivateEmail = "is_private_email"
        case transferSubject = "transfer_sub"
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        issuer = try container.decode(String.self, forKey: .issuer)
        subject = try container.decode(String.self, forKey: .subject)
        audience = try container.decode(String.self, forKey: .audience)
        issuedAt = try container.decode(NumericDate.self, forKey: .issuedAt).roundedDown
        expiresAt = try container.decode(NumericDate.self, forKey: .expiresAt).roundedDown
        notBefore = try container.decodeIfPresent(NumericDate.self, forKey: .notBefore)?.roundedUp
        nonce = try container.decodeIfPresent(String.self, forKey: .nonce)
        nonceSupported = try container.decodeIfPresent(AppleBool.self, forKey: .nonceSupported)?.value
        email = try container.decodeIfPresent(String.self, forKey: .email)
        emailVerified = try container.decodeIfPresent(AppleBool.self, forKey: .emailVerified)?.value ?? false
        isPrivateEmail = try container.decodeIfPresent(AppleBool.self, forKey: .isPrivateEmail)?.value ?? false
        transferSubject = try container.decodeIfPresent(String.self, forKey: .transferSubject)
    }

    init(
        issuer: String, subject: String, audience: String, issuedAt: Int64, expiresAt: Int64, notBefore: Int64? = nil,
        nonce: String? = nil, nonceSupported: Bool? = nil, email: String? = nil, emailVerified: Bool = false,
        isPrivateEmail: Bool = false, transferSubject: String? = nil
    ) {
        self.issuer = issuer
        self.subject = subject
        self.audience = audience
        self.issuedAt = issuedAt
        self.expiresAt = expiresAt
        self.notBefore = notBefore
        self.nonce = nonce
        self.nonceSupported = nonceSupported
        self.email = email
        self.emailVerified = emailVerified
        self.isPrivateEmail = isPrivateEmail
        self.transferSubject = transferSubject
    }
}

/// A time in seconds since 1970, of the years 1970 to 9999, which may have a fraction (RFC 7519 §2).
struct NumericDate: Decodable {
    static let range = Double(UTCTime.accepted.lowerBound)...Double(UTCTime.accepted.upperBound)

    private let seconds: Double

    var roundedDown: Int64 { Int64(seconds.rounded(.down)) }
    var roundedUp: Int64 { Int64(seconds.rounded(.up)) }

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        seconds = try container.decode(Double.self)
        guard Self.range.contains(seconds) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "not of the years 1970 to 9999")
        }
    }
}

/// Apple writes booleans as `true` or as `"true"`.
private struct AppleBool: Decodable {
    var value: Bool

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let value = try? container.decode(Bool.self) {
            self.value = value
            return
        }
        switch try container.decode(String.self) {
        case "true": value = true
        case "false": value = false
        default: throw DecodingError.dataCorruptedError(in: container, debugDescription: "neither true nor false")
        }
    }
}

/// Which identity tokens of Apple are accepted once their signature has been verified.
struct AppleTokenPolicy: Sendable {
    /// Apple's two issuers. The second appeared unannounced in June 2025.
    static let appleIssuers: Set<VerbatimString> = ["https://appleid.apple.com", "https://account.apple.com"]

    enum NonceRule: String, CaseIterable, Sendable {
        /// If the request or the token carries a nonce, both must, and they must match.
        case optional
        /// A sign-in without a nonce is refused. Each nonce is single-use, including those that the app has chosen.
        case required
    }

    var issuers: Set<VerbatimString>
    /// The app's bundle and service identifiers.
    var clientIDs: Set<VerbatimString>
    var nonceRule: NonceRule
    /// Seconds after it was issued in which a token is accepted.
    var maximumAge: Int64 = 3600
    /// Allowed difference between Apple's clock and ours, in seconds.
    var clockSkew: Int64 = 60

    /// Why a token is refused. The reason is logged and not sent to the client.
    enum Flaw: String, Error, Equatable {
        case issuer, audience, subject, expired, notYetValid, issuedInFuture, tooOld, nonceMissing, nonceMismatch
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
        if let notBefore = claims.notBefore, notBefore > now + clockSkew { throw .notYetValid }
        try checkNonce(of: claims, against: nonce)
    }

    /// When a token becomes too old, in seconds since 1970.
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
            // On platforms where Apple does not support nonces, the token says so.
            guard nonceRule == .optional, claims.nonceSupported == false else { throw .nonceMissing }
        case (nil, _?):
            throw .nonceMissing
        }
    }
}

/// The claims of a verified identity token that Gatehouse uses.
struct VerifiedAppleToken: Sendable {
    var subject: String
    /// The app's identifier that the token was issued for.
    var clientID: String
    var email: EmailAddress?
    var emailVerified: Bool
    /// When Apple issued the token.
    var issuedAt: Date
    /// The user's identifier while the app moves to another team at Apple.
    var transferSubject: String?

    init(_ claims: AppleIdentityClaims) {
        subject = claims.subject
        clientID = claims.audience
        // An address that Gatehouse does not accept must not fail the sign-in. It is left out.
        email = claims.email.flatMap { try? EmailAddress($0) }
        emailVerified = claims.emailVerified
        transferSubject = claims.transferSubject.flatMap { (1...255).contains($0.utf8.count) ? $0 : nil }
        issuedAt = Date(timeIntervalSince1970: Double(claims.issuedAt))
    }

    /// The address that Apple has verified.
    var verifiedEmail: Identifier? {
        emailVerified ? email.map(Identifier.email) : nil
    }
}

/// A single-use nonce, and the identity token that contains it, as their SHA-256.
struct SingleUseNonce: Sendable {
    let digest: [UInt8]
    let tokenDigest: [UInt8]
    /// Seconds since 1970. At this time the nonce or its token has expired.
    let expiresAt: Int64

    init(of nonce: String, with identityToken: String, expiresAt: Int64) {
        digest = Array(SHA256.hash(data: Data(nonce.utf8)))
        tokenDigest = Array(SHA256.hash(data: Data(identityToken.utf8)))
        self.expiresAt = expiresAt
    }
}
