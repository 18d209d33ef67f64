import Crypto
import Foundation
import GatehouseBytes
import GatehouseTokenValidation
import Testing

@testable import GatehouseAccessTokens
@testable import GatewayService

/// What `AccessTokenTests` tries against the verifier, as far as it can be told apart from outside: through a socket,
/// where the upstream counts what has reached it.
@Suite("Attacks on tokens, through the gateway")
struct TokenAttackTests {
    private static let other = try! RSAPrivateKey.generate()

    private static func token(
        _ header: String, _ claims: String, key: RSAPrivateKey = GatewayHarness.key
    ) throws -> String {
        let input = Base64URL.string(header.utf8) + "." + Base64URL.string(claims.utf8)
        let signature = try RSAContext(key.copy(), for: .signing).sign(Array(input.utf8)[...])
        return input + "." + Base64URL.string(signature)
    }

    private static func forged() throws -> [(name: String, token: String)] {
        let kid = GatewayHarness.key.publicKey.thumbprint
        let claims = String(decoding: GatewayHarness.claims().json, as: UTF8.self)
        func header(_ members: String) -> String { "{\(members)}" }
        let good = #""alg":"RS256","typ":"at+jwt","kid":"\#(kid)""#
        func changed(_ old: String, _ new: String) -> String {
            precondition(claims.contains(old), old)
            return claims.replacing(old, with: new)
        }
        let pem = try GatewayHarness.key.publicKey.pem
        let hmacInput =
            Base64URL.string(header(#""alg":"HS256","typ":"at+jwt","kid":"\#(kid)""#).utf8) + "."
            + Base64URL.string(claims.utf8)
        let hmac = HMAC<SHA256>.authenticationCode(
            for: Data(hmacInput.utf8), using: SymmetricKey(data: Data(pem.utf8)))
        let whole = try token(header(good), claims)
        let parts = whole.split(separator: ".")
        let modulus = Base64URL.string(other.publicKey.modulus)

        var attacks: [(String, String)] = [
            ("HS256 keyed by the public key", hmacInput + "." + Base64URL.string(hmac)),
            ("another key", try token(header(good), claims, key: other)),
            ("no signature", "\(parts[0]).\(parts[1])."), ("two parts", "\(parts[0]).\(parts[1])"),
            ("five parts, as JWE", "\(whole).\(parts[0]).\(parts[1])"),
            ("another's claims", "\(parts[0]).\(Base64URL.string(changed("customer", "courier").utf8)).\(parts[2])"),
            ("another spelling", whole.dropLast() + (whole.hasSuffix("A") ? "B" : "A")),
            (
                "key in the header",
                try token(
                    header(good + #","jwk":{"kty":"RSA","n":"\#(modulus)","e":"AQAB"}"#), claims, key: other)
            ),
        ]
        for algorithm in ["none", "None", "RS384", "RS512", "PS256", "ES256", "HS256", ""] {
            let changed = header(#""alg":"\#(algorithm)","typ":"at+jwt","kid":"\#(kid)""#)
            attacks.append(("alg \(algorithm)", try token(changed, claims)))
            attacks.append(
                ("alg \(algorithm), unsigned", Base64URL.string(changed.utf8) + ".\(Base64URL.string(claims.utf8))."))
        }
        for members in [
            #""crit":["exp"]"#, #""crit":["b64"],"b64":false"#, #""jku":"https://eve.test/jwks"#, #""x5u":"x""#,
            #""x5c":[]"#, #""zip":"DEF""#, #""cty":"JWT""#, #""alg":"RS256""#, #""kid":"\#(kid)""#, #""x":1"#,
        ] {
            attacks.append(("header with \(members)", try token(header(good + "," + members), claims)))
        }
        for changed in [
            #""typ":"at+jwt","kid":"\#(kid)""#, #""alg":"RS256","typ":"JWT","kid":"\#(kid)""#,
            #""alg":"RS256","kid":"\#(kid)""#, #""alg":"RS256","typ":"at+jwt""#,
            #""alg":"RS256","typ":"at+jwt","kid":"../../dev/null""#, #""alg":"RS256","typ":"at+jwt","kid":null"#,
        ] {
            attacks.append(("header \(changed)", try token(header(changed), claims)))
        }
        for (old, new) in [
            (#""role":"customer""#, #""role":"customer","role":"admin""#), (#""role":"customer""#, #""role":7"#),
            (#""role":"customer","#, ""), (#""iss":"http://gatehouse.test""#, #""iss":"http://eve.test""#),
            (#""aud":"gatehouse""#, #""aud":["gatehouse"]"#), (#""aud":"gatehouse""#, #""aud":"other""#),
            (#""sub":""#, #""sub":"x"#), (#""exp":"#, #""exp":-"#), (#""exp":"#, #""exp":9e"#),
            (#""exp":"#, #""expires":"#), (#""iat":"#, #""nbf":99999999999,"iat":"#), ("{", "[{"),
        ] {
            attacks.append(("claims with \(new)", try token(header(good), changed(old, new))))
        }
        return attacks.map { (name: $0.0, token: $0.1) }
    }

    @Test("None of them reaches a service, whatever has come before")
    func attacks() async throws {
        try await GatewayHarness.withGateway { gateway in
            let attacks = try Self.forged()
            let good = try GatewayHarness.token()
            let keys = gateway.gateway.keys
            let fetching = Task {
                for await _ in keys.demanded(of: 0) {
                    try keys.replace(VerificationKeySet(keys: [GatewayHarness.key.publicKey]))
                }
            }
            defer { fetching.cancel() }
            for round in 0..<2 {
                for (name, token) in attacks {
                    for path in ["/team", "/optional", "/v1/auth/me"] {
                        let answer = try await gateway.send("GET \(path)", token: token)
                        #expect(answer.status == 401 && answer.code == "INVALID_TOKEN", "\(name): \(answer.raw)")
                    }
                }
                #expect(gateway.team.begun == round && gateway.own.begun == 0)
                // From now on a good one is remembered.
                #expect(try await gateway.send("GET /team", token: good).status == 200)
            }
        }
    }
}
