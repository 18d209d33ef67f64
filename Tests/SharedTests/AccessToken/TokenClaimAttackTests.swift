import Foundation
import GatehouseBytes
import Testing

@testable import GatehouseAccessTokens

/// Claims that are missing, of another type, or names that are not quite ours, signed with the right key.
@Suite struct TokenClaimAttackTests {
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
}
