import Bytes
import Foundation

extension AccessTokenClaims {
    /// Times beyond the year 9999 are mistakes or attacks.
    static let timeRange: ClosedRange<Int64> = 0...253_402_300_799

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

    /// Reads the claims of a token whose signature was found good, and its `nbf`.
    ///
    /// Claims that are not ours are checked for form and passed over (RFC 7519 §4.3).
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
    /// A string that may stand in a header field or a log line: not empty, no control characters.
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
    /// Stricter than `init(uuidString:)`, which takes upper case, and many times as fast.
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
