import Bytes
import COpenSSL
import Foundation
import Testing

@testable import AccessToken

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

    /// s + n verifies as s does where nobody compares s with n: a second spelling of one token.
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

    // MARK: - Form

    @Test func everyOtherSpellingOfEachPart() throws {
        let parts = try Forge.token().split(separator: ".").map { String($0) }
        for index in 0..<3 {
            var spellings = [
                parts[index] + "=", parts[index] + "==", parts[index] + "====", parts[index] + "A", " " + parts[index],
                parts[index] + "\n", parts[index] + "\u{0}", "\u{FEFF}" + parts[index],
                parts[index].replacingOccurrences(of: "-", with: "+"),
                parts[index].replacingOccurrences(of: "_", with: "/"),
            ]
            // Trailing bits that are not zero: the same bytes for a lenient decoder.
            let alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
            let bytes = try #require(Base64URL.decode(parts[index]))
            if bytes.count % 3 != 0 {
                spellings += alphabet.map { parts[index].dropLast() + String($0) }
            }
            for spelling in spellings where spelling != parts[index] {
                var changed = parts
                changed[index] = spelling
                #expect(Forge.refusal(changed.joined(separator: ".")) != nil)
                // The same text, but this time the signature covers it.
                if index < 2, !spelling.contains("\n") {
                    let resigned = try Forge.signed(changed[0] + "." + changed[1])
                    #expect(Forge.refusal(resigned) == .malformed)
                }
            }
        }
    }

    @Test func otherNumbersOfParts() throws {
        let token = try Forge.token()
        let nested = try Forge.token(payload: "\"\(token)\"")
        for text in [
            "", ".", "..", "...", "....", "a", "a.b", token + ".", "." + token, token + ".x", token + "..",
            token + "." + token, String(repeating: ".", count: 8000), nested,
            "eyJhbGciOiJSU0EtT0FFUCIsImVuYyI6IkEyNTZHQ00ifQ.a.b.c.d",
        ] {
            #expect(Forge.refusal(text) == .malformed)
        }
        #expect(Forge.refusal(String(repeating: ".", count: 100_000)) == .tooLong)
        #expect(Forge.refusal(String(repeating: "A", count: 1_000_000)) == .tooLong)
    }

    @Test func jsonSerializationInsteadOfCompact() throws {
        let parts = try Forge.token().split(separator: ".")
        #expect(
            Forge.refusal(
                #"{"protected":"\#(parts[0])","payload":"\#(parts[1])","signature":"\#(parts[2])"}"#) == .malformed)
    }

    @Test(arguments: [
        #"{"alg":"none","alg":"RS256",%}"#, #"{"alg":"RS256","alg":"RS256",%}"#,
        #"{"\u0061lg":"none","alg":"RS256",%}"#,
        #"{"alg":"RS256","a\u006Cg":"none",%}"#, #"{"alg":"RS256",%,"k\u0069d":"x"}"#,
    ])
    func duplicateHeaderMembers(template: String) throws {
        let rest = #""typ":"at+jwt","kid":"\#(TestKey.kid)""#
        let header = template.replacingOccurrences(of: "%", with: rest)
        #expect(Forge.refusal(try Forge.token(header: header)) == .malformed)
    }

    @Test(arguments: Forge.payload.keys.sorted() + ["x"])
    func duplicateClaims(name: String) throws {
        let good = Forge.changing(Forge.payload, ["x": "1"])
        let value = Forge.payload[name] ?? "1"
        let scalar = name.unicodeScalars.first!
        let escaped = "\\u00" + String(scalar.value, radix: 16) + name.dropFirst()
        for second in [name, escaped] {
            let payload = good.dropLast() + ",\"\(second)\":\(value)}"
            #expect(Forge.refusal(try Forge.token(payload: String(payload))) == .malformed)
        }
    }

    @Test func duplicatesInsideUnknownClaims() throws {
        let payload = Forge.changing(Forge.payload, ["x": #"{"a":1,"\u0061":2}"#])
        #expect(Forge.refusal(try Forge.token(payload: payload)) == .malformed)
    }

    @Test(arguments: [
        "", "{", "}", "null", "[]", "1", #""x""#, "{}", "{}{}", #"{"iss":}"#, #"{"iss" "x"}"#, #"{iss:"x"}"#,
        "\u{FEFF}{}",
        #"{'iss':'x'}"#, "{} x", #"{"a":1,}"#, #"{"a":01}"#, #"{"a":+1}"#, #"{"a":.5}"#, #"{"a":1.}"#, #"{"a":NaN}"#,
        #"{"a":tru}"#, #"{"a":"\x"}"#, #"{"a":"\ud800"}"#, #"{"a":"\ud800\u0041"}"#, #"{"a":"\udc00"}"#,
        "{\"a\":\"\n\"}", "{\"a\":\"\u{0}\"}", "/**/{}", #"{"a":"\u12"}"#, #"{"a":[1,]}"#, #"{"a":[}"#,
        String(repeating: "[", count: 4000), String(repeating: #"{"a":"#, count: 900),
        #"{"x":"# + String(repeating: "[", count: 20) + String(repeating: "]", count: 20) + "}",
    ])
    func textThatIsNotTheJSONOfClaims(text: String) throws {
        #expect(Forge.refusal(try Forge.token(payload: text)) == .malformed)
        #expect(Forge.refusal(try Forge.token(header: text)) != nil)
        // With all claims in front, so that nothing is missing.
        if text.hasPrefix(#"{"a""#) || text.hasPrefix(#"{"x""#) {
            let payload = Forge.json(Forge.payload).dropLast() + "," + text.dropFirst()
            #expect(Forge.refusal(try Forge.token(payload: String(payload))) == .malformed)
        }
    }

    @Test func bytesThatAreNotUTF8() throws {
        for bytes: [UInt8] in [[0xFF], [0xC0, 0xAF], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80]] {
            let json = Forge.json(Forge.payload).dropLast() + #","x":""#
            let payload = Array(json.utf8) + bytes + Array(#""}"#.utf8)
            let input = Base64URL.string(Forge.json(Forge.header).utf8) + "." + Base64URL.string(payload)
            #expect(Forge.refusal(try Forge.signed(input)) == .malformed)
        }
    }

    @Test func moreClaimsThanATokenHas() throws {
        let extra = (0..<100).map { ",\"c\($0)\":0" }.joined()
        let payload = Forge.json(Forge.payload).dropLast() + extra + "}"
        #expect(Forge.refusal(try Forge.token(payload: String(payload))) == .malformed)
    }

    // MARK: - Claims

    @Test(arguments: Forge.payload.keys.sorted())
    func missingClaims(name: String) throws {
        let payload = Forge.changing(Forge.payload, [name: nil])
        #expect(Forge.refusal(try Forge.token(payload: payload)) == .malformed)
    }

    @Test(
        arguments: ["exp", "iat", "nbf"],
        [
            #""1750003540""#, "1750003540.0", "1750003540.5", "1e400", "1e10", "175e7", "-1", "-0", "null", "true",
            "[]",
            "[1750003540]", "{}", "9223372036854775808", "18446744073709551617", "99999999999999999999999999", "1e-400",
            "253402300800", "01750003540", "0x7fffffff", "NaN", "Infinity", "1_750_003_540",
        ])
    func timesThatAreNotIntegersInRange(name: String, value: String) throws {
        let payload = Forge.changing(Forge.payload, [name: value])
        #expect(Forge.refusal(try Forge.token(payload: payload)) == .malformed)
    }

    @Test func timesThatContradictEachOther() throws {
        let payload = Forge.changing(Forge.payload, ["iat": "\(Forge.now + 3541)"])
        #expect(Forge.refusal(try Forge.token(payload: payload)) == .malformed)
        let past = Forge.changing(Forge.payload, ["iat": "0", "exp": "0"])
        #expect(Forge.refusal(try Forge.token(payload: past)) == .expired)
    }

    @Test(arguments: [
        #"["gatehouse"]"#, #"["gatehouse","other"]"#, "[]", #""""#, "null", "1", #"{"gatehouse":true}"#,
    ])
    func audiencesThatAreNotOneString(audience: String) throws {
        #expect(Forge.refusal(try Forge.token(payload: Forge.changing(Forge.payload, ["aud": audience]))) == .malformed)
    }

    @Test(arguments: ["gate", "gatehouse2", "Gatehouse", "gatehouse ", "https://gatehouse", "com.example.app"])
    func otherAudiences(audience: String) throws {
        let payload = Forge.changing(Forge.payload, ["aud": "\"\(audience)\""])
        #expect(Forge.refusal(try Forge.token(payload: payload)) == .wrongAudience)
    }

    @Test(arguments: [
        "http://gatehouse.localhost/", "http://gatehouse.localhos", "HTTP://GATEHOUSE.LOCALHOST",
        "https://appleid.apple.com",
    ])
    func otherIssuers(issuer: String) throws {
        let payload = Forge.changing(Forge.payload, ["iss": "\"\(issuer)\""])
        #expect(Forge.refusal(try Forge.token(payload: payload)) == .wrongIssuer)
    }

    @Test(
        arguments: ["sub", "sid", "jti"],
        [
            #""""#, #""42""#, "42", "null", #""0E4E9C5B-8B7C-4E0A-9E6E-0A8F3E6C1D2F""#,
            #""0e4e9c5b8b7c4e0a9e6e0a8f3e6c1d2f""#, #""{0e4e9c5b-8b7c-4e0a-9e6e-0a8f3e6c1d2f}""#,
            #""0e4e9c5b-8b7c-4e0a-9e6e-0a8f3e6c1d2f ""#, #""0e4e9c5b-8b7c-4e0a-9e6e-0a8f3e6c1d2g""#,
            #""001234.0123456789abcdef.0123""#,
        ])
    func identifiersThatAreNotUUIDs(name: String, value: String) throws {
        #expect(Forge.refusal(try Forge.token(payload: Forge.changing(Forge.payload, [name: value]))) == .malformed)
    }

    @Test(
        arguments: ["role", "client_id", "email", "iss"],
        [#""""#, "1", "null", "[]", #""a\r\nGatehouse-Role: admin""#, #""a\u0000""#, #""\u007f""#])
    func textThatCannotStandInAHeader(name: String, value: String) throws {
        #expect(Forge.refusal(try Forge.token(payload: Forge.changing(Forge.payload, [name: value]))) == .malformed)
    }

    @Test(arguments: [#""store-1""#, "null", "[1]", "[null]", #"[""]"#, #"["a",["b"]]"#, #"["a\u000a"]"#, "{}"])
    func storesThatAreNotAListOfText(value: String) throws {
        let payload = Forge.changing(Forge.payload, ["store_ids": value])
        #expect(Forge.refusal(try Forge.token(payload: payload)) == .malformed)
    }

    // MARK: - Names that Unicode calls equivalent

    @Test func namesAreComparedVerbatim() throws {
        let jwk = String(decoding: try VerificationKeySet(keys: [TestKey.signing.publicKey]).jwks(), as: UTF8.self)
        let keys = try VerificationKeySet(jwks: Array(jwk.replacing(TestKey.kid, with: "K\u{E9}y").utf8))
        let verifier = try AccessTokenVerifier(issuer: "https://caf\u{E9}.test", audience: "Kitchen", keys: keys)
        func refusal(kid: String = "K\u{E9}y", issuer: String = "https://caf\u{E9}.test", audience: String = "Kitchen")
            throws -> AccessTokenError.Code?
        {
            let token = try Forge.token(
                header: Forge.changing(Forge.header, ["kid": "\"\(kid)\""]),
                payload: Forge.changing(Forge.payload, ["iss": "\"\(issuer)\"", "aud": "\"\(audience)\""]))
            do throws(AccessTokenError) {
                _ = try verifier.verify(token, now: Forge.now)
                return nil
            } catch {
                return error.code
            }
        }
        #expect(try refusal() == nil)
        #expect(try refusal(kid: "\u{212A}\u{E9}y") == .unknownKey)
        #expect(try refusal(kid: "Ke\u{301}y") == .unknownKey)
        #expect(try refusal(issuer: "https://cafe\u{301}.test") == .wrongIssuer)
        #expect(try refusal(audience: "\u{212A}itchen") == .wrongAudience)
        #expect(keys["K\u{E9}y"] != nil && keys["Ke\u{301}y"] == nil)
    }

    /// Each pair is one name to Swift, two names to JSON.
    @Test func equivalentNamesAreNotTheSameMember() throws {
        let more = ["caf\u{E9}", "cafe\u{301}", "K", "\u{212A}"].map { ",\"\($0)\":1" }.joined()
        let payload = String(Forge.json(Forge.payload).dropLast()) + more + "}"
        #expect(Forge.refusal(try Forge.token(payload: payload)) == nil)
        let twoKeys = ["K1", "\u{212A}1"].map { kid in
            #"{"kty":"RSA","kid":"\#(kid)","e":"AQAB","n":"\#(Base64URL.string(TestKey.signing.publicKey.modulus))"}"#
        }
        let set = try VerificationKeySet(jwks: Array(#"{"keys":[\#(twoKeys.joined(separator: ","))]}"#.utf8))
        #expect(set.keyIDs == ["K1", "\u{212A}1"])
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
