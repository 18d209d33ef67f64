public import Foundation
import GatehouseBytes

/// The claims of an access token (RFC 9068 §2.2, with Gatehouse's own `role` and `store_ids`).
public struct AccessTokenClaims: Sendable, Equatable {
    /// `iss`
    public var issuer: String
    /// `aud`, always one string.
    public var audience: String
    /// `sub`: the user.
    public var subject: UUID
    /// `sid`: the session. Revoking the session revokes the token.
    public var sessionID: UUID
    /// `jti`: this token.
    public var tokenID: UUID
    /// `iat`: seconds since 1970.
    public var issuedAt: Int64
    /// `exp`: seconds since 1970. The token is valid before this second, not in it.
    public var expiresAt: Int64
    /// `client_id`: the app the token was issued to.
    public var clientID: String
    /// `role`
    public var role: String
    /// `store_ids`
    public var storeIDs: [String]
    /// `email`, if the user has one. Unless `isEmailVerified`, the address may belong to another person.
    public var email: String?
    /// `email_verified`: whether the address is verified. Every token with an address has this claim. Without the claim
    /// the address is unverified.
    public var isEmailVerified: Bool
    /// `auth_time`: when the user last authenticated, in seconds since 1970; `nil` in a token without the claim.
    public var authenticationTime: Int64?
    /// `amr`: how the user authenticated (RFC 8176). Empty if unknown; the claim is then omitted.
    public var authenticationMethods: [String]

    public init(
        issuer: String, audience: String, subject: UUID, sessionID: UUID, tokenID: UUID = UUID(), issuedAt: Int64,
        expiresAt: Int64, clientID: String, role: String, storeIDs: [String] = [], email: String? = nil,
        isEmailVerified: Bool = false, authenticationTime: Int64? = nil, authenticationMethods: [String] = []
    ) {
        self.issuer = issuer
        self.audience = audience
        self.subject = subject
        self.sessionID = sessionID
        self.tokenID = tokenID
        self.issuedAt = issuedAt
        self.expiresAt = expiresAt
        self.clientID = clientID
        self.role = role
        self.storeIDs = storeIDs
        self.email = email
        self.isEmailVerified = isEmailVerified
        self.authenticationTime = authenticationTime
        self.authenticationMethods = authenticationMethods
    }
}

extension AccessTokenClaims {
    /// Times beyond the year 9999 are mistakes or attacks.
    static let timeRange = UTCTime.accepted

    /// The claims as the signer writes them: fixed order, no white space, UUIDs in lower case.
    var json: [UInt8] {
        var writer = JSONWriter()
        writer.object {
            $0.member("iss", issuer)
            $0.member("aud", audience)
            $0.member("sub", subject.uuidString.lowercased())
            $0.member("sid", sessionID.uuidString.lowercased())
            $0.member("jti", tokenID.uuidString.lowercased())
            $0.member("iat", issuedAt)
            $0.member("exp", expiresAt)
            $0.member("client_id", clientID)
            $0.member("role", role)
            $0.member("store_ids", storeIDs)
            if let email {
                $0.member("email", email)
                $0.member("email_verified", isEmailVerified)
            }
            if let authenticationTime { $0.member("auth_time", authenticationTime) }
            if !authenticationMethods.isEmpty { $0.member("amr", authenticationMethods) }
        }
        return writer.bytes
    }

    /// Reads the claims and `nbf` of a token whose signature was verified.
    ///
    /// The syntax of unknown claims is checked, and their values are ignored (RFC 7519 §4.3).
    static func read(json: [UInt8]) throws(AccessTokenError) -> (claims: AccessTokenClaims, notBefore: Int64?) {
        var issuer, audience, clientID, role, email: String?
        var subject, sessionID, tokenID: UUID?
        var issuedAt, expiresAt, notBefore, authenticationTime: Int64?
        var storeIDs: [String]?
        var authenticationMethods: [String] = []
        var isEmailVerified = false

        var scanner = JSONScanner(json)
        try scanner.object { (name, scanner) throws(AccessTokenError) in
            switch name {
            case "iss": issuer = try scanner.text()
            case "aud": audience = try scanner.text()
            case "sub": subject = try scanner.uuid()
            case "sid": sessionID = try scanner.uuid()
            case "jti": tokenID = try scanner.uuid()
            case "iat": issuedAt = try scanner.integer(in: timeRange)
            case "exp": expiresAt = try scanner.integer(in: timeRange)
            case "nbf": notBefore = try scanner.integer(in: timeRange)
            case "client_id": clientID = try scanner.text()
            case "role": role = try scanner.text()
            case "email": email = try scanner.text()
            case "email_verified": isEmailVerified = try scanner.boolean()
            case "store_ids": storeIDs = try scanner.textList()
            case "auth_time": authenticationTime = try scanner.integer(in: timeRange)
            case "amr": authenticationMethods = try scanner.textList()
            default: try scanner.skipValue()
            }
        }
        try scanner.end()

        guard let issuer, let audience, let subject, let sessionID, let tokenID, let issuedAt, let expiresAt,
            let clientID, let role, let storeIDs
        else { throw .malformed("A required claim is missing.") }
        guard issuedAt <= expiresAt else { throw .malformed("The token expires before it was issued.") }
        let claims = AccessTokenClaims(
            issuer: issuer, audience: audience, subject: subject, sessionID: sessionID, tokenID: tokenID,
            issuedAt: issuedAt, expiresAt: expiresAt, clientID: clientID, role: role, storeIDs: storeIDs,
            email: email, isEmailVerified: email != nil && isEmailVerified, authenticationTime: authenticationTime,
            authenticationMethods: authenticationMethods)
        return (claims, notBefore)
    }
}

extension JSONScanner {
    /// A string that is safe in a header field or a log line: not empty, no control characters.
    mutating func text() throws(AccessTokenError) -> String {
        let value = try string()
        guard !value.isEmpty, value.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
            throw .malformed("A claim is empty or has control characters.")
        }
        return value
    }

    fileprivate mutating func textList() throws(AccessTokenError) -> [String] {
        var list: [String] = []
        try array { (scanner) throws(AccessTokenError) in list.append(try scanner.text()) }
        return list
    }

    /// A UUID in its canonical spelling: lower case, with hyphens (RFC 9562 §4).
    fileprivate mutating func uuid() throws(AccessTokenError) -> UUID {
        guard let uuid = UUID(canonical: try string()) else {
            throw .malformed("An identifier is not a UUID in lower case.")
        }
        return uuid
    }
}

extension UUID {
    /// Stricter than `init(uuidString:)`, which accepts upper case, and many times as fast.
    fileprivate init?(canonical text: String) {
        var halves: (UInt64, UInt64) = (0, 0)
        var place = 0
        for byte in text.utf8 {
            switch (place, byte) {
            case (8, UInt8(ascii: "-")), (13, UInt8(ascii: "-")), (18, UInt8(ascii: "-")), (23, UInt8(ascii: "-")):
                break
            case (8, _), (13, _), (18, _), (23, _): return nil
            default:
                let digit: UInt8
                switch byte {
                case UInt8(ascii: "0")...UInt8(ascii: "9"): digit = byte - UInt8(ascii: "0")
                case UInt8(ascii: "a")...UInt8(ascii: "f"): digit = byte - UInt8(ascii: "a") + 10
                default: return nil
                }
                halves = (halves.0 << 4 | halves.1 >> 60, halves.1 << 4 | UInt64(digit))
            }
            place += 1
        }
        guard place == 36 else { return nil }
        self = withUnsafeBytes(of: (halves.0.bigEndian, halves.1.bigEndian)) { bytes in
            UUID(uuid: bytes.loadUnaligned(as: uuid_t.self))
        }
    }
}

/// Why an access token or a key was refused.
///
/// The message is for operators. It never holds a token, a part of one, or a key.
public struct AccessTokenError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The kind of refusal. More may be added.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        public let description: String

        /// The token does not have the form that the signer writes.
        public static let malformed = Code(description: "malformed")
        /// The header's `alg` is not `RS256`, or not an algorithm of the other issuer.
        public static let wrongAlgorithm = Code(description: "wrongAlgorithm")
        /// The header's `typ` is not `at+jwt`: the token has another purpose (RFC 9068 §4).
        public static let wrongType = Code(description: "wrongType")
        /// No key of the set has the header's `kid`.
        public static let unknownKey = Code(description: "unknownKey")
        public static let badSignature = Code(description: "badSignature")
        public static let wrongIssuer = Code(description: "wrongIssuer")
        public static let wrongAudience = Code(description: "wrongAudience")
        public static let expired = Code(description: "expired")
        public static let notYetValid = Code(description: "notYetValid")
        /// Longer than `AccessTokenVerifier.maximumLength`.
        public static let tooLong = Code(description: "tooLong")
        /// The text of a key cannot be read.
        public static let unreadableKey = Code(description: "unreadableKey")
        /// An RSA key that is too small, too large, or has an unsafe exponent.
        public static let weakKey = Code(description: "weakKey")
        /// Two keys of one set have the same `kid`.
        public static let duplicateKey = Code(description: "duplicateKey")
        /// OpenSSL itself failed, for example for lack of memory.
        public static let cryptography = Code(description: "cryptography")
    }

    public let code: Code
    public let message: String

    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    public var description: String { "\(code): \(message)" }
}

extension AccessTokenError {
    static func tooLong() -> AccessTokenError {
        AccessTokenError(.tooLong, "The token is longer than \(AccessTokenVerifier.maximumLength) bytes.")
    }

    static func malformed(_ message: String) -> AccessTokenError {
        AccessTokenError(.malformed, message)
    }
}
