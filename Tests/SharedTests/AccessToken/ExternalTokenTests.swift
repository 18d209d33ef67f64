import Crypto
import Foundation
import GatehouseBytes
import Testing

@testable import GatehouseAccessTokens

@Suite struct ExternalTokenTests {
    private static let issuer = "https://login.example.com/"
    private static let audience = "https://orders.example.com"
    private static let header = ["alg": #""ES256""#, "typ": #""JWT""#, "kid": #""ec""#]
    private static let claims = [
        "iss": "\"\(issuer)\"", "aud": "\"\(audience)\"", "sub": #""user|1""#, "iat": "\(Forge.now - 60)",
        "exp": "\(Forge.now + 600)",
    ]

    /// Knows an RSA key as `rsa` and one on P-256 as `ec`.
    private static let keys = try! VerificationKeySet([
        ("rsa", .rsa(TestKey.signing.publicKey)), ("ec", .p256(TestP256.publicKey())),
    ])

    private static func read(
        _ token: String, issuer: String = issuer, audience: String = audience,
        form: ExternalTokenVerifier.Form = .init(algorithms: [.rs256, .es256], acceptsAnyJWT: true)
    ) -> Result<ExternalTokenClaims, AccessTokenError> {
        do throws(AccessTokenError) {
            let verifier = try ExternalTokenVerifier(issuer: issuer, audience: audience, form: form, keys: keys)
            return .success(try verifier.verify(Array(token.utf8), now: Forge.now))
        } catch {
            return .failure(error)
        }
    }

    private static func refusal(
        _ token: String, form: ExternalTokenVerifier.Form = .init(algorithms: [.rs256, .es256], acceptsAnyJWT: true)
    ) -> AccessTokenError.Code? {
        if case .failure(let error) = read(token, form: form) { error.code } else { nil }
    }

    private static func token(
        header changes: [String: String?] = [:], claims claimChanges: [String: String?] = [:]
    ) throws -> String {
        try TestP256.token(Forge.changing(header, changes), Forge.changing(claims, claimChanges))
    }

    // MARK: - As identity providers write them

    @Test func keycloak() throws {
        let path = try #require(ClaimPath(["realm_access", "roles"]))
        let token = try Forge.token(
            header: #"{"alg":"RS256","typ":"JWT","kid":"rsa"}"#,
            payload: """
                {"exp":\(Forge.now + 300),"iat":\(Forge.now),"jti":"onrtac:5a8f","iss":"\(Self.issuer)",\
                "aud":["account","\(Self.audience)"],"sub":"f3b1c7e2-1111-4222-8333-944455556666","typ":"Bearer",\
                "azp":"orders-app","sid":"not-a-uuid","acr":"1","allowed-origins":["https://app.example.com"],\
                "realm_access":{"roles":["offline_access","courier"],"more":{"roles":["admin"]}},\
                "resource_access":{"account":{"roles":["manage-account"]}},"scope":"openid email",\
                "email_verified":true,"preferred_username":"ada","email":"ada@example.com"}
                """)
        let claims = try Self.read(token, form: .init(acceptsAnyJWT: true, roles: path)).get()
        #expect(claims.subject == "f3b1c7e2-1111-4222-8333-944455556666")
        #expect(claims.roles == ["offline_access", "courier"])
        #expect(claims.clientID == "orders-app" && claims.tokenID == "onrtac:5a8f")
        #expect(claims.email == "ada@example.com" && claims.isEmailVerified)
        let deep = ExternalTokenVerifier.Form(
            acceptsAnyJWT: true, roles: ClaimPath(["resource_access", "account", "roles"]))
        #expect(try Self.read(token, form: deep).get().roles == ["manage-account"])
    }

    @Test func auth0() throws {
        let path = try #require(ClaimPath(["https://example.com/roles"]))
        let token = try Forge.token(
            header: #"{"alg":"RS256","typ":"at+jwt","kid":"rsa"}"#,
            payload: """
                {"https://example.com/roles":["courier"],"iss":"\(Self.issuer)","sub":"auth0|5f7c8ec7c33c6c004bbafe82",\
                "aud":["\(Self.audience)","https://example.eu.auth0.com/userinfo"],"iat":\(Forge.now),\
                "exp":\(Forge.now + 86400),"scope":"openid profile","azp":"my_client_id","permissions":["read:orders"]}
                """)
        // Marked as an access token, so that the form need not allow more.
        let claims = try Self.read(token, form: .init(roles: path)).get()
        #expect(claims.subject == "auth0|5f7c8ec7c33c6c004bbafe82" && claims.roles == ["courier"])
        #expect(claims.clientID == "my_client_id" && claims.tokenID == nil && claims.email == nil)
        // A name with dots is one name, not a way through others.
        let dots = ExternalTokenVerifier.Form(roles: ClaimPath(["https://example", "com/roles"]))
        #expect(try Self.read(token, form: dots).get().roles == [])
    }

    @Test func entra() throws {
        let path = try #require(ClaimPath(["roles"]))
        let token = try Forge.token(
            header: #"{"typ":"JWT","alg":"RS256","x5t":"kgLLtH0vM2jZ","kid":"rsa"}"#,
            payload: """
                {"aud":"\(Self.audience)","iss":"\(Self.issuer)","iat":\(Forge.now),"nbf":\(Forge.now),\
                "exp":\(Forge.now + 4000),"aio":"AXQAi/8TAAAA","azp":"6e74172b-be56-4843-9ff4-e66a39bb12e3","azpacr":"0",\
                "name":"Ada","oid":"690222be-ff1a-4d56-abd1-7e4f7d38e474","rh":"I","roles":["Courier.Write"],\
                "scp":"access_as_user","sub":"HKZpfaHyWadeOouYlitjrI-KffTm222X5rrV3xDqfKQ","tid":"72f988bf",\
                "uti":"fqiBqXLPj0eQa82S-IYFAA","ver":"2.0"}
                """)
        let claims = try Self.read(token, form: .init(acceptsAnyJWT: true, roles: path)).get()
        #expect(claims.subject == "HKZpfaHyWadeOouYlitjrI-KffTm222X5rrV3xDqfKQ" && claims.roles == ["Courier.Write"])
        #expect(claims.clientID == "6e74172b-be56-4843-9ff4-e66a39bb12e3" && !claims.isEmailVerified)
    }

    // MARK: - What counts

    @Test func es256AndWhatIsNeededIsEnough() throws {
        let claims = try Self.read(Self.token()).get()
        #expect(
            claims
                == ExternalTokenClaims(
                    issuer: Self.issuer, subject: "user|1", issuedAt: Forge.now - 60, expiresAt: Forge.now + 600))
        for name in Self.claims.keys where name != "iat" {
            #expect(Self.refusal(try Self.token(claims: [name: nil])) == .malformed, "\(name)")
        }
        #expect(try Self.read(Self.token(claims: ["iat": nil])).get().issuedAt == nil)
    }

    /// Clerk writes `cat` and `oiat`, Auth0 `gty`, others `cty`, `x5t` or names of their own (RFC 7515 §4).
    @Test(arguments: ["cat", "oiat", "gty", "cty", "x5t", "x5t#S256", "nonce", "kids", "CRIT", "https://example.com/x"])
    func membersOfTheIssuersOwnAreIgnored(name: String) throws {
        for value in [
            #""cl_B7d4PD111AAA""#, "1750000000.5", "null", "true", #"["b64"]"#, #"{"kid":"rsa","crit":["b64"]}"#,
        ] {
            #expect(Self.refusal(try Self.token(header: [name: value])) == nil, "\(name): \(value)")
        }
    }

    /// RFC 7519 §2: a NumericDate may have a fraction. The token never lives longer for it.
    @Test func timesMayHaveAFraction() throws {
        let claims = try Self.read(
            Self.token(claims: ["iat": "\(Forge.now - 60).999", "exp": "\(Forge.now + 1).999999999999999999999"])
        ).get()
        #expect(claims.issuedAt == Forge.now - 60 && claims.expiresAt == Forge.now + 1)
        let cases: [([String: String?], AccessTokenError.Code?)] = [
            (["exp": "\(Forge.now).999"], .expired), (["nbf": "\(Forge.now).000"], nil),
            (["nbf": "\(Forge.now - 1).000000000000000000001"], nil),
            (["nbf": "\(Forge.now).000000000000000000001"], .notYetValid),
            // Issued and expired within one second.
            (["iat": "\(Forge.now).9", "exp": "\(Forge.now).1"], .expired),
            (["exp": "253402300799.9"], nil), (["nbf": "253402300799.9"], .malformed),
            (["exp": "253402300800.0"], .malformed),
        ]
        for (change, expected) in cases {
            #expect(Self.refusal(try Self.token(claims: change)) == expected, "\(change)")
        }
    }

    @Test(
        arguments: ["exp", "nbf", "iat"],
        [
            #""1750003540""#, "1e400", "1.5e400", "1e10", "175e7", "1.75e9", "-1", "-0", "-0.5", "null", "true", "[]",
            "[1750003540]", "{}", "9223372036854775808", "9223372036854775808.5", "99999999999999999999999999.1",
            "1e-400", "253402300800", "253402300800.5", "01750003540", "01750003540.5", ".5", "1.", "1.2.3",
            "0x7fffffff", "NaN", "Infinity",
        ])
    func timesThatAreNotNumbersInRange(name: String, value: String) throws {
        #expect(Self.refusal(try Self.token(claims: [name: value])) == .malformed)
    }

    @Test func onlyWhatTheFormAllows() throws {
        let strict = ExternalTokenVerifier.Form(algorithms: [.rs256, .es256])
        for (type, isTaken) in [
            (#""JWT""#, true), (#""jwt""#, true), (#""application/jwt""#, true), (nil, true), (#""at+jwt""#, true),
            (#""ID""#, false), (#""logout+jwt""#, false), (#""dpop+jwt""#, false),
        ] {
            let token = try Self.token(header: ["typ": type])
            #expect(Self.refusal(token) == (isTaken ? nil : .wrongType), "\(type ?? "none")")
            #expect(Self.refusal(token, form: strict) == (type == #""at+jwt""# ? nil : .wrongType))
        }
        let rsaOnly = ExternalTokenVerifier.Form(acceptsAnyJWT: true)
        #expect(Self.refusal(try Self.token(), form: rsaOnly) == .wrongAlgorithm)
    }

    @Test func namesAndTimesAreHeldTo() throws {
        let changes: [([String: String?], AccessTokenError.Code)] = [
            (["iss": #""https://login.example.com""#], .wrongIssuer), (["aud": #""other""#], .wrongAudience),
            (["aud": "[]"], .wrongAudience), (["aud": #"["a","b"]"#], .wrongAudience), (["aud": "1"], .malformed),
            (["aud": #"[1]"#], .malformed), (["exp": "\(Forge.now)"], .expired), (["exp": "1e10"], .malformed),
            (["nbf": "\(Forge.now + 1)"], .notYetValid), (["sub": #""""#], .malformed), (["sub": "1"], .malformed),
            (["sub": "\"\(String(repeating: "a", count: 256))\""], .malformed),
            (["sub": #""a\r\nGatehouse-User-Id: x""#], .malformed), (["email_verified": "yes"], .malformed),
        ]
        for (change, expected) in changes {
            #expect(Self.refusal(try Self.token(claims: change)) == expected, "\(change)")
        }
    }

    /// Some providers write them empty for users who came by phone, others say `null`.
    @Test(arguments: [#""""#, "null", "-7", "7e5", #"{"a":[]}"#, "[]", #""a\r\nGatehouse-Role: x""#, "false"])
    func whatDecidesNothingNeedNotBeThere(value: String) throws {
        let names = ["email", "email_verified", "jti", "client_id", "azp", "auth_time"]
        let plain = try Self.read(Self.token()).get()
        let changes = Dictionary(uniqueKeysWithValues: names.map { ($0, value as String?) })
        #expect(try Self.read(Self.token(claims: changes)).get() == plain)
        // Nor is an address verified by anything but `true`.
        let address = ["email": #""a@example.com""# as String?, "email_verified": value]
        #expect(try !Self.read(Self.token(claims: address)).get().isEmailVerified)
    }

    @Test func aProviderMayTellWhenItsUserAuthenticated() throws {
        let claims = try Self.read(Self.token(claims: ["auth_time": "\(Forge.now - 30)"])).get()
        #expect(claims.authenticationTime == Forge.now - 30)
        let fraction = try Self.read(Self.token(claims: ["auth_time": "\(Forge.now - 30).9"])).get()
        #expect(fraction.authenticationTime == Forge.now - 30)
        #expect(ClaimPath(["auth_time"]) == nil)
    }

    @Test func whatDoesNotLookLikeRolesIsNone() throws {
        let form = ExternalTokenVerifier.Form(
            algorithms: [.es256], acceptsAnyJWT: true, roles: ClaimPath(["access", "roles"]))
        for (value, roles) in [
            (#"{"roles":["a","b"]}"#, ["a", "b"]), (#"{"roles":"a"}"#, ["a"]), (#"{"roles":[]}"#, []),
            (#"{"roles":{"a":1}}"#, []), (#"{"roles":null}"#, []), (#"["roles"]"#, []), (#""roles""#, []),
            (#"{"Roles":["a"]}"#, []), (#"{"x":{"roles":["a"]}}"#, []), ("null", []),
        ] {
            #expect(try Self.read(Self.token(claims: ["access": value]), form: form).get().roles == roles, "\(value)")
        }
        #expect(try Self.read(Self.token(claims: ["roles": #"["a"]"#]), form: form).get().roles == [])
    }

    @Test func pathsOfClaims() {
        for names in [[], [""], ["a", ""], ["sub"], ["email"], ["iss", "a"], Array(repeating: "a", count: 7)] {
            #expect(ClaimPath(names) == nil, "\(names)")
        }
        #expect(ClaimPath(["a.b"]) != ClaimPath(["a", "b"]))
    }

    // MARK: - Attacks, signed with the right key unless said otherwise

    @Test func signaturesThatAreNotTwoNumbers() throws {
        let token = try Self.token()
        let input = String(token[..<token.lastIndex(of: ".")!])
        let raw = try #require(Base64URL.decode(token.split(separator: ".")[2]))
        let der = Array(try TestP256.signing.signature(for: Data(input.utf8)).derRepresentation)
        let zeros = [UInt8](repeating: 0, count: 32)
        // The order of the curve's group: as good as zero.
        let order: [UInt8] = [
            0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xBC, 0xE6, 0xFA, 0xAD,
            0xA7, 0x17, 0x9E, 0x84, 0xF3, 0xB9, 0xCA, 0xC2, 0xFC, 0x63, 0x25, 0x51,
        ]
        let (r, s) = (Array(raw[..<32]), Array(raw[32...]))
        let bad: [[UInt8]] = [
            [], zeros + zeros, zeros + s, r + zeros, order + order, order + s, r + order, der, s + r, raw + [0],
            [0] + raw, Array(raw.dropLast()), raw + raw, r, zeros, [UInt8](repeating: 0xFF, count: 64),
            [0x30, 6, 2, 1, 1, 2, 1, 1] + [UInt8](repeating: 0, count: 56),
        ]
        for signature in bad {
            #expect(Self.refusal(input + "." + Base64URL.string(signature)) == .badSignature, "\(signature.count)")
        }
        #expect(Self.refusal(try Self.token().dropLast(3) + "AAA") != nil)
        #expect(Self.refusal(try TestP256.signed(input, key: P256.Signing.PrivateKey())) == .badSignature)
    }

    /// Numbers with zeros in front are shorter in DER.
    @Test func shortNumbersAreGenuineToo() throws {
        for attempt in 0..<600 {
            let token = try Self.token(claims: ["jti": "\"\(attempt)\""])
            #expect(Self.refusal(token) == nil)
        }
    }

    @Test func anAlgorithmBelongsToItsKey() throws {
        // The header says what the key is not for, with signatures that are good under the one or the other. The issuer
        // may have published a key for that algorithm under the same kid since, so that a fetch may help.
        for (algorithm, kid) in [("ES256", "rsa"), ("RS256", "ec")] {
            let header = Forge.changing(Self.header, ["alg": "\"\(algorithm)\"", "kid": "\"\(kid)\""])
            let claims = Forge.json(Self.claims)
            #expect(Self.refusal(try TestP256.token(header, claims)) == .unknownKey)
            #expect(Self.refusal(try Forge.token(header: header, payload: claims)) == .unknownKey)
        }
        for algorithm in ["none", "HS256", "ES384", "ES256K", "es256", "PS256", ""] {
            #expect(Self.refusal(try Self.token(header: ["alg": "\"\(algorithm)\""])) == .wrongAlgorithm)
        }
        // Each key's signature under the other's name.
        let swapped = try Forge.token(
            header: #"{"alg":"RS256","typ":"JWT","kid":"rsa"}"#, payload: Forge.json(Self.claims), key: TestKey.other)
        #expect(Self.refusal(swapped) == .badSignature)
    }

    @Test(arguments: ["jwk", "jku", "x5u", "x5c", "crit", "b64", "zip", "enc"])
    func headersThatChangeHowATokenIsRead(name: String) throws {
        for value in [
            "true", "false", "[]", #"["b64"]"#, #"["exp"]"#, #""https://eve.example/jwks""#, "{}", "null", "1", #""""#,
        ] {
            #expect(Self.refusal(try Self.token(header: [name: value])) == .malformed)
            // The same name in another spelling.
            let escaped = "\\u00" + String(name.utf8.first!, radix: 16) + name.dropFirst()
            #expect(Self.refusal(try Self.token(header: [escaped: value])) == .malformed)
        }
    }

    @Test(arguments: [
        #"{"alg":"none","alg":"ES256","typ":"JWT","kid":"ec"}"#, #"{"alg":"ES256","typ":"JWT","kid":"x","kid":"ec"}"#,
        #"{"alg":"ES256","typ":"JWT","kid":"ec","cat":1,"c\u0061t":2}"#, #"{"alg":"ES256","typ":"JWT"}"#,
        #"{"alg":"ES256","typ":"JWT","kid":null}"#, #"{"alg":"ES256","typ":"JWT","kid":["ec"]}"#,
        #"{"alg":"ES256","typ":["JWT"],"kid":"ec"}"#, #"{"alg":["ES256"],"typ":"JWT","kid":"ec"}"#,
    ])
    func headersWithANameTwiceOrAValueOfAnotherType(header: String) throws {
        #expect(Self.refusal(try TestP256.token(header, Forge.json(Self.claims))) == .malformed)
    }

    /// RFC 7517 §4.5
    @Test func keysOfTwoTypesMayShareAName() throws {
        let keys = try VerificationKeySet([
            ("ec", .rsa(TestKey.signing.publicKey)), ("ec", .p256(TestP256.publicKey())),
        ])
        let form = ExternalTokenVerifier.Form(algorithms: [.rs256, .es256], acceptsAnyJWT: true)
        let verifier = try ExternalTokenVerifier(
            issuer: Self.issuer, audience: Self.audience, form: form, keys: keys)
        let (rsa, ec, claims) = (
            Forge.changing(Self.header, ["alg": #""RS256""#]), Forge.json(Self.header), Forge.json(Self.claims)
        )
        for token in [try TestP256.token(ec, claims), try Forge.token(header: rsa, payload: claims)] {
            #expect(throws: Never.self) { try verifier.verify(Array(token.utf8), now: Forge.now) }
        }
        // Neither key's signature counts under the other's algorithm.
        for token in [try TestP256.token(rsa, claims), try Forge.token(header: ec, payload: claims)] {
            let error = #expect(throws: AccessTokenError.self) {
                try verifier.verify(Array(token.utf8), now: Forge.now)
            }
            #expect(error?.code == .badSignature)
        }
    }

    /// Gatehouse's own tokens are RS256, whatever else its key set may hold.
    @Test func gatehouseTakesNoES256() throws {
        let verifier = try AccessTokenVerifier(
            issuer: "http://gatehouse.localhost", audience: "gatehouse", keys: Self.keys)
        let header = Forge.changing(Forge.header, ["alg": #""ES256""#, "kid": #""ec""#])
        let token = try TestP256.token(header, Forge.json(Forge.payload))
        let error = #expect(throws: AccessTokenError.self) { try verifier.verify(token, now: Forge.now) }
        #expect(error?.code == .wrongAlgorithm)
        let named = try TestP256.token(Forge.changing(Forge.header, ["kid": #""ec""#]), Forge.json(Forge.payload))
        let unknown = #expect(throws: AccessTokenError.self) { try verifier.verify(named, now: Forge.now) }
        #expect(unknown?.code == .unknownKey)
    }
}
