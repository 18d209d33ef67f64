import Foundation
import GatehouseBytes
import TestKit
import Testing

@testable import GatehouseAccessTokens

@Suite struct KeyTests {
    /// The example of RFC 7638 §3.1.
    static let rfc7638 = (
        modulus: """
        0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3ok\
        njhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHz\
        u6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU\
        8awapJzKnqDKgw
        """,
        thumbprint: "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs"
    )

    @Test func thumbprintIsThatOfTheRFC() throws {
        let modulus = try #require(Base64URL.decode(Self.rfc7638.modulus))
        #expect(try RSAPublicKey(modulus: modulus, exponent: [1, 0, 1]).thumbprint == Self.rfc7638.thumbprint)
    }

    @Test func publicKeysSurvivePEM() throws {
        let key = TestKey.signing.publicKey
        #expect(try RSAPublicKey(pem: key.pem) == key)
        let set = try VerificationKeySet(pem: "# development\n" + key.pem + "\ntext\n" + TestKey.other.publicKey.pem)
        #expect(set == (try VerificationKeySet(keys: [TestKey.other.publicKey, key])))
        #expect(set.keyIDs.count == 2)
        #expect(set[key.thumbprint] == .rsa(key))
    }

    @Test func privateKeysSurvivePEM() throws {
        let key = TestKey.signing
        #expect(key.pem.hasPrefix("-----BEGIN PRIVATE KEY-----\n"))
        let read = try RSAPrivateKey(pem: "# development\n" + key.pem)
        #expect(read.publicKey == key.publicKey)
        let token = try AccessTokenSigner(key: read).sign(Forge.claims)
        #expect(Forge.refusal(token) == nil)
    }

    @Test func privateKeysAreNotPrinted() {
        var dumped = ""
        dump(TestKey.signing, to: &dumped)
        for text in ["\(TestKey.signing)", String(reflecting: TestKey.signing), dumped] {
            #expect(!text.contains("PRIVATE KEY-----"))
        }
    }

    @Test(arguments: [
        "", "no key", "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n",
        "-----BEGIN PUBLIC KEY-----\nAAAA\n", UnfitKeys.ecPublic, UnfitKeys.pssPublic, TestKey.signing.pem,
    ])
    func textWithoutAnRSAPublicKey(pem: String) {
        let error = #expect(throws: AccessTokenError.self) { try VerificationKeySet(pem: pem) }
        #expect(error?.code == .unreadableKey)
    }

    @Test func aDamagedSecondBlockIsNotPassedOver() throws {
        let whole = try TestKey.signing.publicKey.pem
        let error = #expect(throws: AccessTokenError.self) { try VerificationKeySet(pem: whole + whole.dropLast(40)) }
        #expect(error?.code == .unreadableKey)
    }

    @Test(arguments: ["", "no key", UnfitKeys.encrypted, UnfitKeys.ecPublic, TestKey.signing.pem + TestKey.other.pem])
    func textWithoutOnePrivateKey(pem: String) {
        let error = #expect(throws: AccessTokenError.self) { try RSAPrivateKey(pem: pem) }
        #expect(error?.code == .unreadableKey)
    }

    @Test func smallKeysAreRefused() {
        #expect(throws: AccessTokenError.self) { try RSAPrivateKey.generate(bits: 1024) }
        for error in [
            #expect(throws: AccessTokenError.self) { try RSAPublicKey(pem: WeakKey.rsa1024Public) },
            #expect(throws: AccessTokenError.self) { try RSAPrivateKey(pem: UnfitKeys.rsa1024Private) },
        ] {
            #expect(error?.code == .weakKey)
        }
    }

    @Test func aKeyMayStandOnceInASet() {
        let key = TestKey.signing.publicKey
        let error = #expect(throws: AccessTokenError.self) { try VerificationKeySet(keys: [key, key]) }
        #expect(error?.code == .duplicateKey)
    }
}

@Suite struct KeySetJWKSTests {
    private static let good = [
        "kty": #""RSA""#, "use": #""sig""#, "alg": #""RS256""#, "kid": #""one""#, "e": #""AQAB""#,
        "n": "\"\(Base64URL.string(TestKey.signing.publicKey.modulus))\"",
    ]

    private static func refusal(_ keys: String...) -> AccessTokenError.Code? {
        do throws(AccessTokenError) {
            _ = try VerificationKeySet(jwks: Array(#"{"keys":[\#(keys.joined(separator: ","))]}"#.utf8))
            return nil
        } catch {
            return error.code
        }
    }

    @Test func setsSurviveJWKS() throws {
        let set = try VerificationKeySet(keys: [TestKey.signing.publicKey, TestKey.other.publicKey])
        #expect(try VerificationKeySet(jwks: set.jwks()) == set)
        let document = try JSONDecoder().decode([String: [[String: String]]].self, from: Data(set.jwks()))
        #expect(document["keys"]?.count == 2)
        #expect(document["keys"]?.allSatisfy { Set($0.keys) == ["kty", "use", "alg", "kid", "n", "e"] } == true)
    }

    @Test func anotherIssuersKeyIDIsKept() throws {
        let json = #"{"keys":[\#(Forge.json(Self.good))],"other":[null]}"#
        #expect(try VerificationKeySet(jwks: Array(json.utf8))["one"] == .rsa(TestKey.signing.publicKey))
    }

    /// Reads a set of the good key and further entries, in both orders.
    private static func read(with entries: String...) throws -> VerificationKeySet.Reading {
        let good = Forge.json(Self.good)
        let readings = try [[good] + entries, entries + [good]].map { keys in
            try VerificationKeySet.read(jwks: Array(#"{"keys":[\#(keys.joined(separator: ","))]}"#.utf8))
        }
        #expect(readings[0].keys == readings[1].keys && readings[0].unusable == readings[1].unusable)
        return readings[0]
    }

    @Test(
        arguments: [
            ["kty": #""EC""#], ["kty": #""oct""#], ["use": #""enc""#], ["alg": #""RS512""#], ["alg": #""RSA-OAEP""#],
            ["key_ops": #"["encrypt"]"#], ["key_ops": "[]"],
        ] as [[String: String?]])
    func keysForSomethingElseArePassedOver(changes: [String: String?]) throws {
        let other = Forge.changing(Self.good, changes)
        let reading = try Self.read(with: other)
        #expect(reading.keys.keyIDs == ["one"] && reading.unusable.isEmpty)
        // A set must have a key.
        #expect(Self.refusal(other) == .unreadableKey)
    }

    @Test(arguments: [["use": nil], ["alg": nil], ["key_ops": #"["verify"]"#]] as [[String: String?]])
    func whatIsOptionalMayBeMissing(changes: [String: String?]) {
        #expect(Self.refusal(Forge.changing(Self.good, changes)) == nil)
    }

    /// 1, 3, 65535, 65536 (even), 65538 (even), an empty one, nine bytes, a leading zero.
    @Test(arguments: [[1], [3], [255, 255], [1, 0, 0], [1, 0, 2], [], [1, 0, 0, 0, 0, 0, 0, 0, 1], [0, 1, 0, 1]])
    func unsafeExponents(exponent: [UInt8]) throws {
        let error = #expect(throws: AccessTokenError.self) {
            try RSAPublicKey(modulus: TestKey.signing.publicKey.modulus, exponent: exponent)
        }
        #expect(error?.code == .weakKey)
        try Self.expectUnusable(["e": "\"\(Base64URL.string(exponent))\""])
    }

    /// The key does not verify, and the other one does.
    private static func expectUnusable(_ changes: [String: String?]) throws {
        let entry = Forge.changing(Self.good, changes.merging(["kid": #""two""#]) { given, _ in given })
        let reading = try Self.read(with: entry)
        #expect(reading.keys["one"] == .rsa(TestKey.signing.publicKey) && reading.keys.keyIDs == ["one"])
        #expect(reading.unusable.count == 1)
        #expect(Self.refusal(entry) == .unreadableKey)
    }

    @Test func unsafeModuli() throws {
        let modulus = TestKey.signing.publicKey.modulus
        let small = [UInt8](repeating: 0xFF, count: 128)
        let almost = [0x7F] + modulus.dropFirst()
        let even = modulus.dropLast() + [0]
        for bytes in [small, Array(almost), Array(even), [0] + modulus, [], [UInt8](repeating: 0xFF, count: 1025)] {
            let error = #expect(throws: AccessTokenError.self) {
                try RSAPublicKey(modulus: bytes, exponent: [1, 0, 1])
            }
            #expect(error?.code == .weakKey)
            try Self.expectUnusable(["n": "\"\(Base64URL.string(bytes))\""])
        }
    }

    @Test func anEvenModulusIsNamedAsSuch() {
        let even = Array(TestKey.signing.publicKey.modulus.dropLast() + [0])
        let error = #expect(throws: AccessTokenError.self) { try RSAPublicKey(modulus: even, exponent: [1, 0, 1]) }
        #expect(error?.message.contains("even") == true)
        let short = #expect(throws: AccessTokenError.self) {
            try RSAPublicKey(modulus: Array(even.dropFirst(128)), exponent: [1, 0, 1])
        }
        #expect(short?.message.contains("2048") == true)
    }

    /// RFC 7517 §5: what is not understood, misses a member or has a value out of range is ignored.
    @Test(
        arguments: [
            ["kid": nil], ["kid": #""""#], ["kid": "1"], ["kty": "null"], ["kty": nil], ["n": nil], ["n": #""a+b=""#],
            ["e": #""AQAB=""#], ["e": "65537"], ["d": #""AQAB""#], ["k\\u0069d": #""two""#], ["use": "1"],
            ["key_ops": #""verify""#], ["alg": "[]"], ["m": #"{"a":1,"a":2}"#],
        ] as [[String: String?]])
    func anEntryThatCannotBeUsedIsSkipped(changes: [String: String?]) throws {
        try Self.expectUnusable(changes)
    }

    @Test func entriesOfAnyShapeAreSkippedAndNamed() throws {
        let many = "{" + (0..<100).map { "\"m\($0)\":0" }.joined(separator: ",") + "}"
        let long = #"{"kid":"\#(String(repeating: "k", count: 5000))"}"#
        let deep = #"{"vendor":"# + String(repeating: "[", count: 50) + String(repeating: "]", count: 50) + "}"
        let reading = try Self.read(
            with: "1", "null", "[]", "{}", #""key""#, many, long, #"{"kid":"a","kid":"b"}"#, deep)
        #expect(reading.keys.keyIDs == ["one"] && reading.unusable.count == 9)
        #expect(reading.unusable[6].kid == String(repeating: "k", count: 64))
        #expect(reading.unusable.allSatisfy { !$0.reason.isEmpty })
    }

    @Test func oneKidTwice() throws {
        let modulus = "\"\(Base64URL.string(TestKey.other.publicKey.modulus))\""
        #expect(Self.refusal(Forge.json(Self.good), Forge.changing(Self.good, ["n": modulus])) == .duplicateKey)
        #expect(Self.refusal(Forge.json(Self.good), Forge.json(Self.good)) == .duplicateKey)
        // A key that cannot be used takes no name from one that can.
        try Self.expectUnusable(["kid": #""one""#, "n": #""AQAB""#])
    }

    /// RFC 7517 §4.5
    @Test func keysOfTwoTypesMayShareAName() throws {
        let key = try TestP256.publicKey()
        let ec = Forge.json([
            "kty": #""EC""#, "crv": #""P-256""#, "kid": #""one""#, "x": "\"\(Base64URL.string(key.x))\"",
            "y": "\"\(Base64URL.string(key.y))\"",
        ])
        let reading = try Self.read(with: ec)
        #expect(reading.keys["one"] == .rsa(TestKey.signing.publicKey) && reading.keys["one", .es256] == .p256(key))
        #expect(reading.keys.keyIDs == ["one"] && reading.unusable.isEmpty)
        #expect(try VerificationKeySet(jwks: reading.keys.jwks()) == reading.keys)
        #expect(Self.refusal(Forge.json(Self.good), ec, ec) == .duplicateKey)
    }

    @Test(arguments: [
        "", "[]", "{}", "null", #"{"keys":{}}"#, #"{"keys":null}"#, #"{"keys":[]"#, #"{"keys":[],"keys":[]}"#,
        #"{"keys":[{"kid":"one"},]}"#, #"{"keys":[{"kid":}]}"#, #"{"keys":[{"kid":"\ud800"}]}"#, #"{"keys":[]}}"#,
    ])
    func documentsThatAreNoKeySet(text: String) {
        let error = #expect(throws: AccessTokenError.self) { try VerificationKeySet(jwks: Array(text.utf8)) }
        #expect(error?.code == .malformed)
    }

    @Test(arguments: [#"{"keys":[]}"#, #"{"keys":[1]}"#, #"{"keys":[{}]}"#])
    func setsWithoutAKey(text: String) {
        let error = #expect(throws: AccessTokenError.self) { try VerificationKeySet(jwks: Array(text.utf8)) }
        #expect(error?.code == .unreadableKey)
    }
}
