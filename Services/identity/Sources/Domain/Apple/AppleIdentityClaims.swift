import Foundation

/// What Apple says of a user in an identity token
/// (developer.apple.com, "Authenticating users with Sign in with Apple").
struct AppleIdentityClaims: Sendable, Equatable, Decodable {
    var issuer: String
    var subject: String
    var audience: String
    var issuedAt: Int64
    var expiresAt: Int64
    var nonce: String?
    var nonceSupported: Bool?
    var email: String?
    var emailVerified: Bool
    var isPrivateEmail: Bool
    /// Sixty days long after the app has changed teams at Apple: the name that the former team knows too (TN3159).
    var transferSubject: String?

    enum CodingKeys: String, CodingKey {
        case issuer = "iss"
        case subject = "sub"
        case audience = "aud"
        case issuedAt = "iat"
        case expiresAt = "exp"
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
        issuedAt = try container.decode(Int64.self, forKey: .issuedAt)
        expiresAt = try container.decode(Int64.self, forKey: .expiresAt)
        nonce = try container.decodeIfPresent(String.self, forKey: .nonce)
        nonceSupported = try container.decodeIfPresent(AppleBool.self, forKey: .nonceSupported)?.value
        email = try container.decodeIfPresent(String.self, forKey: .email)
        emailVerified = try container.decodeIfPresent(AppleBool.self, forKey: .emailVerified)?.value ?? false
        isPrivateEmail = try container.decodeIfPresent(AppleBool.self, forKey: .isPrivateEmail)?.value ?? false
        transferSubject = try container.decodeIfPresent(String.self, forKey: .transferSubject)
    }

    init(
        issuer: String, subject: String, audience: String, issuedAt: Int64, expiresAt: Int64, nonce: String? = nil,
        nonceSupported: Bool? = nil, email: String? = nil, emailVerified: Bool = false, isPrivateEmail: Bool = false,
        transferSubject: String? = nil
    ) {
        self.issuer = issuer
        self.subject = subject
        self.audience = audience
        self.issuedAt = issuedAt
        self.expiresAt = expiresAt
        self.nonce = nonce
        self.nonceSupported = nonceSupported
        self.email = email
        self.emailVerified = emailVerified
        self.isPrivateEmail = isPrivateEmail
        self.transferSubject = transferSubject
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
