import Bytes
import Foundation
import TestKit
import Testing

@testable import AccessToken

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
        #expect(try VerificationKeySet(jwks: VerificationKeySet(keys: []).jwks()).isEmpty)
        let document = try JSONDecoder().decode([String: [[String: String]]].self, from: Data(set.jwks()))
        #expect(document["keys"]?.count == 2)
        #expect(document["keys"]?.allSatisfy { Set($0.keys) == ["kty", "use", "alg", "kid", "n", "e"] } == true)
    }

    @Test func anotherIssuersKeyIDIsKept() throws {
        let json = #"{"keys":[\#(Forge.json(Self.good))],"other":[null]}"#
        #expect(try VerificationKeySet(jwks: Array(json.utf8))["one"] == .rsa(TestKey.signing.publicKey))
    }

    @Test(
        arguments: [
            ["kty": #""EC""#], ["kty": #""oct""#], ["kty": nil], ["use": #""enc""#], ["alg": #""RS512""#],
            ["alg": #""RSA-OAEP""#], ["key_ops": #"["encrypt"]"#], ["key_ops": "[]"],
        ] as [[String: String?]])
    func keysForSomethingElseArePassedOver(changes: [String: String?]) throws {
        let json = #"{"keys":[\#(Forge.changing(Self.good, changes))]}"#
        #expect(try VerificationKeySet(jwks: Array(json.utf8)).isEmpty)
    }

    @Test(arguments: [["use": nil], ["alg": nil], ["key_ops": #"["verify"]"#]] as [[String: String?]])
    func whatIsOptionalMayBeMissing(changes: [String: String?]) {
        #expect(Self.refusal(Forge.changing(Self.good, changes)) == nil)
    }

    /// 1, 3, 65535, 65536 (even), 65538 (even), an empty one, nine bytes, a leading zero.
    @Test(arguments: [[1], [3], [255, 255], [1, 0, 0], [1, 0, 2], [], [1, 0, 0, 0, 0, 0, 0, 0, 1], [0, 1, 0, 1]])
    func unsafeExponents(exponent: [UInt8]) {
        let key = Forge.changing(Self.good, ["e": "\"\(Base64URL.string(exponent))\""])
        #expect(Self.refusal(key) == .weakKey)
    }

    @Test func unsafeModuli() throws {
        let modulus = TestKey.signing.publicKey.modulus
        let small = [UInt8](repeating: 0xFF, count: 128)
        let almost = [0x7F] + modulus.dropFirst()
        let even = modulus.dropLast() + [0]
        for bytes in [small, Array(almost), Array(even), [0] + modulus, [], [UInt8](repeating: 0xFF, count: 1025)] {
            #expect(Self.refusal(Forge.changing(Self.good, ["n": "\"\(Base64URL.string(bytes))\""])) == .weakKey)
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

    @Test(
        arguments: [
            ["kid": nil], ["kid": #""""#], ["kid": "1"], ["n": nil], ["n": #""a+b=""#], ["e": #""AQAB=""#],
            ["e": "65537"], ["d": #""AQAB""#], ["k\\u0069d": #""two""#],
        ] as [[String: String?]])
    func damagedKeysRefuseTheSet(changes: [String: String?]) {
        #expect(Self.refusal(Forge.changing(Self.good, changes)) == .malformed)
    }

    @Test func oneKidTwice() {
        let other = Forge.changing(
            Self.good, ["n": "\"\(Base64URL.string(TestKey.other.publicKey.modulus))\""])
        #expect(Self.refusal(Forge.json(Self.good), other) == .duplicateKey)
    }

    @Test(arguments: ["", "[]", "{}", #"{"keys":{}}"#, #"{"keys":[]"#, #"{"keys":[],"keys":[]}"#, #"{"keys":[1]}"#])
    func documentsThatAreNoKeySet(text: String) {
        let error = #expect(throws: AccessTokenError.self) { try VerificationKeySet(jwks: Array(text.utf8)) }
        #expect(error?.code == .malformed)
    }
}
