import CGatehouseOpenSSL
import Foundation
import GatehouseBytes
import Testing

@testable import GatehouseAccessTokens

/// What has been tried against other verifiers. Unless a test says otherwise the token is signed with the right key,
/// so that only the defect decides.
@Suite struct TokenAttackTests {
    // MARK: - Algorithm and key

    @Test(arguments: [
        #""none""#, #""None""#, #""NONE""#, #""nOnE""#, #""""#, #"["RS256"]"#, "null", "256", #""rs256""#, #""RS256 ""#,
        #""RS384""#, #""RS512""#, #""PS256""#, #""ES256""#, #""HS256""#, #""EdDSA""#, #""RSA-OAEP""#, nil,
    ])
    func otherAlgorithms(algorithm: String?) throws {
        let header = Forge.changing(Forge.header, ["alg": algorithm])
        let input = Base64URL.string(header.utf8) + "." + Base64URL.string(Forge.json(Forge.payload).utf8)
        let expected: [AccessTokenError.Code?] = [.wrongAlgorithm, .malformed]
        #expect(expected.contains(Forge.refusal(try Forge.signed(input))))
        #expect(expected.contains(Forge.refusal(input + ".")))
    }

    @Test func hs256KeyedByThePublicKey() throws {
        let pem = try TestKey.signing.publicKey.pem
        let base64 = pem.split(separator: "\n").filter { !$0.hasPrefix("-") }.joined()
        let jwks = try VerificationKeySet(keys: [TestKey.signing.publicKey]).jwks()
        let secrets = [Array(pem.utf8), Array(pem.dropLast().utf8), Array(Data(base64Encoded: base64)!), jwks]
        for secret in secrets {
            for algorithm in ["HS256", "RS256"] {
                let header = Forge.changing(Forge.header, ["alg": "\"\(algorithm)\""])
                let input = Base64URL.string(header.utf8) + "." + Base64URL.string(Forge.json(Forge.payload).utf8)
                let refusal = Forge.refusal(input + "." + Base64URL.string(hmacSHA256(Array(input.utf8), key: secret)))
                #expect(refusal == (algorithm == "HS256" ? .wrongAlgorithm : .badSignature))
            }
        }
    }

    private func hmacSHA256(_ message: [UInt8], key: [UInt8]) -> [UInt8] {
        var code = [UInt8](repeating: 0, count: 32)
        var length = 0
        EVP_Q_mac(
            nil, "HMAC", nil, "SHA256", nil, key, key.count, message, message.count, &code, code.count, &length)
        return code
    }

    /// Keys and places of keys in the header, with a token that verifies under the embedded key or under ours.
    @Test(arguments: ["jwk", "jku", "x5u", "x5c", "x5t", "x5t#S256", "crit", "b64", "cty", "zip", "enc", "p2c", "x"])
    func headerMembersThatAccessTokensDoNotHave(name: String) throws {
        let values = [
            #""https://attacker.example/keys""#, "true", "false", "[]", #"["exp"]"#, #"["b64"]"#, #""exp""#, "null",
            #"{"kty":"RSA","n":"\#(Base64URL.string(TestKey.other.publicKey.modulus))","e":"AQAB"}"#, "{}", "1",
        ]
        for value in values {
            let header = Forge.changing(Forge.header, [name: value])
            #expect(Forge.refusal(try Forge.token(header: header)) == .malformed)
            #expect(Forge.refusal(try Forge.token(header: header, key: TestKey.other)) == .malformed)
        }
    }

    @Test func critTogetherWithWhatItNames() throws {
        let header = Forge.changing(Forge.header, ["crit": #"["b64"]"#, "b64": "false"])
        #expect(Forge.refusal(try Forge.token(header: header)) == .malformed)
        // RFC 7797: the payload not encoded.
        #expect(
            Forge.refusal(try Forge.signed(Base64URL.string(header.utf8) + "." + Forge.json(Forge.payload))) != nil)
    }

    @Test(arguments: [
        "../../dev/null", "/etc/passwd", "' OR '1'='1", "x' UNION SELECT 'key' --", #"a\u0000b"#, "",
        String(repeating: "k", count: 5000), "|cat /etc/passwd", "http://attacker.example/key",
    ])
    func strangeKeyIDs(kid: String) throws {
        let header = Forge.changing(Forge.header, ["kid": "\"\(kid)\""])
        #expect(Forge.refusal(try Forge.token(header: header)) == .unknownKey)
    }

    @Test(arguments: ["1", "null", "true", "[]", "{}", nil])
    func keyIDsOfAnotherType(kid: String?) throws {
        #expect(Forge.refusal(try Forge.token(header: Forge.changing(Forge.header, ["kid": kid]))) == .malformed)
    }

    @Test func aKeyIDOf64Kilobytes() throws {
        let header = Forge.changing(Forge.header, ["kid": "\"" + String(repeating: "k", count: 65_536) + "\""])
        #expect(Forge.refusal(try Forge.token(header: header)) == .tooLong)
    }

    /// RFC 9068 §4, RFC 7515 §4.1.9.
    @Test(arguments: ["at+jwt", "at+JWT", "AT+JWT", "application/at+jwt", "APPLICATION/At+JwT"])
    func everySpellingOfTheType(type: String) throws {
        #expect(Forge.refusal(try Forge.token(header: Forge.changing(Forge.header, ["typ": "\"\(type)\""]))) == nil)
    }

    @Test(arguments: [
        #""JWT""#, #""""#, #""rt+jwt""#, #""dpop+jwt""#, #""application/""#, #""application/application/at+jwt""#,
        #""text/at+jwt""#, #""at+jwt ""#, #""at+jwt; a=b""#, nil,
    ])
    func otherTypes(type: String?) throws {
        #expect(Forge.refusal(try Forge.token(header: Forge.changing(Forge.header, ["typ": type]))) == .wrongType)
    }

    // MARK: - Signature

    @Test func anotherKeysSignature() throws {
        #expect(Forge.refusal(try Forge.token(key: TestKey.other)) == .badSignature)
    }

    @Test func changedPayload() throws {
        var parts = try Forge.token().split(separator: ".").map { String($0) }
        parts[1] = Base64URL.string(Forge.changing(Forge.payload, ["role": #""admin""#]).utf8)
        #expect(Forge.refusal(parts.joined(separator: ".")) == .badSignature)
    }

    @Test func emptyTruncatedAndPaddedSignatures() throws {
        let token = try Forge.token()
        let input = String(token[..<token.lastIndex(of: ".")!])
        let signature = try #require(Base64URL.decode(String(token.split(separator: ".")[2])))
        for changed in [[], Array(signature.dropLast()), signature + [0], [0] + signature, signature + signature] {
            #expect(Forge.refusal(input + "." + Base64URL.string(changed)) == .badSignature)
        }
        #expect(Forge.refusal(input) == .malformed)
        for bit in 0..<8 {
            var flipped = signature
            flipped[bit * 31] ^= 1 << UInt8(bit)
            #expect(Forge.refusal(input + "." + Base64URL.string(flipped)) == .badSignature)
        }
    }

    /// s + n verifies as s does where the verifier does not compare s with n: a second spelling of one token.
    @Test func signatureBeyondTheModulus() throws {
        let modulus = TestKey.signing.publicKey.modulus
        for attempt in 0..<40 {
            let token = try Forge.token(payload: Forge.changing(Forge.payload, ["x": "\(attempt)"]))
            let input = String(token[..<token.lastIndex(of: ".")!])
            var sum = try #require(Base64URL.decode(String(token.split(separator: ".")[2])))
            var carry = 0
            for index in sum.indices.reversed() {
                let total = Int(sum[index]) + Int(modulus[index]) + carry
                sum[index] = UInt8(total & 255)
                carry = total >> 8
            }
            guard carry == 0 else { continue }
            #expect(Forge.refusal(input + "." + Base64URL.string(sum)) == .badSignature)
        }
    }

    // MARK: - Other tokens

    @Test func tokensMadeForSomethingElse() throws {
        let apple = #"{"alg":"RS256","kid":"\#(TestKey.kid)"}"#
        #expect(Forge.refusal(try Forge.token(header: apple)) == .wrongType)
        #expect(Forge.refusal("ghrt_AAECAwQFBgcICQoLDA0ODw") == .malformed)
        #expect(Forge.refusal("Bearer " + (try Forge.token())) == .malformed)
        #expect(Forge.refusal("" + (try Forge.token()) + " ") == .malformed)
    }
}
