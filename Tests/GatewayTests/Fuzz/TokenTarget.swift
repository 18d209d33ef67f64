import Foundation
import GatehouseBytes

@testable import GatehouseAccessTokens

/// Bytes that a client shows as an access token, and parts of one.
enum TokenTarget {
    static func check(_ bytes: [UInt8]) throws(Finding) {
        try checkToken(bytes)
        try checkHeader(bytes)
        try checkClaims(bytes)
    }

    /// Whether the verifier takes the token.
    static func isGenuine(_ bytes: [UInt8]) -> Bool { (try? verifier.verify(bytes, now: now)) != nil }

    // MARK: The whole

    private static let now: Int64 = 1_800_000_000

    /// A key of which only the public half was kept: the one token that it has signed is in the corpus.
    private static let verifier = try! AccessTokenVerifier(
        issuer: "http://gatehouse.localhost", audience: "gatehouse",
        keys: VerificationKeySet(
            pem: """
                -----BEGIN PUBLIC KEY-----
                MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAvpaph0Jd0rPDua2hHFbj
                cXnHocW1SMx4ZRy7ftziB+li9kGTVHa2rtH/UA1NlrPHHejkRpArX54N2Yg1l1cb
                LMI4oRm+5XxiVwEWtl9a5DSQOU8P+s7rsUUximLBHjiINEHIj3jjfLFhY67KhOOH
                mlZCFJ+CG31fK0APqSNcq+5xz35b9aQLjmi9SPVFubywsJZ0SpALC2gpUMlcjKeA
                7InWcpAiKl4zMcgZJXV3wJkqTlUtqq4Rqn/GBL+2ay+t6KdebelwbbKDOsZgstoH
                NnHIGdGPkaCWezWw9KDUm4b6UwmNG8NCf2vgM2QHIkPdXiTLFSDJT4bF5Swms1MG
                4QIDAQAB
                -----END PUBLIC KEY-----
                """))

    private static func checkToken(_ bytes: [UInt8]) throws(Finding) {
        guard let parts = try? CompactParts(bytes) else {
            return try Finding.unless(!isGenuine(bytes), "a token without three parts is taken")
        }
        for part in [parts.header, parts.payload, parts.signature] {
            guard let decoded = Base64URL.decode(part) else { continue }
            try Finding.unless(Base64URL.encode(decoded).elementsEqual(part), "base64url with two spellings")
        }
        if let header = Base64URL.decode(parts.header) { try checkHeader(header) }
        if let payload = Base64URL.decode(parts.payload) { try checkClaims(payload) }
        guard let claims = try? verifier.verify(bytes, now: now) else { return }
        // Signed by us, so written by us: there is no other spelling of it.
        let header = (try? JOSEHeader(own: parts.header)).map {
            #"{"alg":"RS256","typ":"at+jwt","kid":"\#($0.kid.text)"}"#
        }
        try Finding.unless(
            Base64URL.encode(Array((header ?? "").utf8)).elementsEqual(parts.header)
                && Base64URL.encode(claims.json).elementsEqual(parts.payload),
            "the gateway takes a token that no issuer signed: \(String(decoding: bytes, as: UTF8.self))")
    }

    // MARK: The parts

    private static func checkHeader(_ json: [UInt8]) throws(Finding) {
        guard let header = try? JOSEHeader(own: Base64URL.encode(json)[...]), let object = object(json) else { return }
        try Finding.unless(
            object.count == 3 && object["alg"] as? String == "RS256"
                && (object["typ"] as? String)?.lowercased().hasSuffix("at+jwt") == true
                && isSame(object["kid"], header.kid.text), "Foundation reads another header: \(text(json))")
    }

    /// What is read is what any reader of JSON sees, and written again means the same.
    private static func checkClaims(_ json: [UInt8]) throws(Finding) {
        guard let (claims, notBefore) = try? AccessTokenClaims.read(json: json) else { return }
        let again = try? AccessTokenClaims.read(json: claims.json).claims
        try Finding.unless(again?.json == claims.json, "claims change when they are written again: \(text(json))")
        // Foundation gives up on some numbers in claims that are not ours.
        guard let object = object(json) else { return }
        try Finding.unless(
            isSame(object["iss"], claims.issuer) && isSame(object["aud"], claims.audience)
                && isSame(object["sub"], claims.subject.uuidString.lowercased())
                && isSame(object["sid"], claims.sessionID.uuidString.lowercased())
                && isSame(object["jti"], claims.tokenID.uuidString.lowercased())
                && isSame(object["client_id"], claims.clientID) && isSame(object["role"], claims.role)
                && (claims.email == nil ? object["email"] == nil : isSame(object["email"], claims.email!))
                && claims.isEmailVerified == (object["email"] != nil && object["email_verified"] as? Bool == true),
            "Foundation reads other texts: \(text(json))")
        let stores = object["store_ids"] as? [Any] ?? []
        try Finding.unless(
            stores.count == claims.storeIDs.count && zip(stores, claims.storeIDs).allSatisfy { isSame($0, $1) },
            "Foundation reads other stores: \(text(json))")
        try Finding.unless(
            (object["iat"] as? NSNumber)?.int64Value == claims.issuedAt
                && (object["exp"] as? NSNumber)?.int64Value == claims.expiresAt
                && (object["nbf"] as? NSNumber)?.int64Value == notBefore, "Foundation reads other times: \(text(json))")
    }

    private static func object(_ json: [UInt8]) -> [String: Any]? {
        try? JSONSerialization.jsonObject(with: Data(json)) as? [String: Any]
    }

    /// Byte for byte: strings that are only equivalent are two users' names.
    private static func isSame(_ value: Any?, _ text: String) -> Bool {
        (value as? String).map { $0.utf8.elementsEqual(text.utf8) } ?? false
    }

    private static func text(_ json: [UInt8]) -> String { String(decoding: json, as: UTF8.self).debugDescription }
}
