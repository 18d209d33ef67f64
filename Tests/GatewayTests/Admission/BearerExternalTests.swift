import Crypto
import Foundation
import GatehouseBytes
import GatehouseServiceContracts
import GatehouseTokenValidation
import Testing

@testable import GatehouseAccessTokens
@testable import GatewayService

/// Users of an identity provider that is not Gatehouse, through the gateway.
@Suite("Another issuer's users")
struct BearerExternalTests {
    private static let issuer = "https://login.example.com/"
    private static let key = P256.Signing.PrivateKey()

    private static func options(roleNames: [VerbatimString: VerbatimString] = [:]) -> GatewayHarness.Options {
        GatewayHarness.Options {
            $0.furtherIssuers = [
                TrustedIssuer(
                    issuer: issuer, audience: "orders",
                    trust: .external(
                        .init(
                            form: .init(algorithms: [.es256], acceptsAnyJWT: true, roles: ClaimPath(["roles"])),
                            roleNames: roleNames))),
                TrustedIssuer(issuer: "https://other-gatehouse.test", audience: "gatehouse"),
            ]
            $0.routes = { team in
                [("/partner", [String]()), ("/partner-couriers", ["courier"]), ("/recent", [])].map { path, roles in
                    Route(
                        name: path, pattern: PathPattern(path, isPrefix: true)!, methods: .all,
                        authentication: .required, roles: Set(verbatim: roles),
                        maximumAuthenticationAge: path == "/recent" ? 600 : nil, target: .upstream(team), bodyLimit: 0,
                        timeout: .seconds(30), claims: [.email, .clientID, .tokenID, .issuedAt],
                        issuers: Set(verbatim: [issuer, "https://other-gatehouse.test"]))
                }
            }
        }
    }

    private static func withGateway(
        _ options: GatewayHarness.Options, _ body: @Sendable (GatewayHarness) async throws -> Void
    ) async throws {
        let jwk = key.publicKey.rawRepresentation
        let jwks = """
            {"keys":[{"kty":null},{"kty":"RSA","n":"AQAB","e":"AQAB"},{"kty":"EC","crv":"P-256","kid":"ec",\
            "x":"\(Base64URL.string(jwk.prefix(32)))",\
            "y":"\(Base64URL.string(jwk.suffix(32)))"}]}
            """
        try await GatewayHarness.withGateway(options) { gateway in
            let keys = gateway.gateway.keys
            try keys.replace(VerificationKeySet(jwks: Array(jwks.utf8)), of: 1)
            try keys.replace(VerificationKeySet(keys: [GatewayHarness.key.publicKey]), of: 2)
            try await body(gateway)
        }
    }

    /// - Parameter more: members of the claims, each with a comma in front.
    private static func token(subject: String = "auth0|42", _ more: String = "") throws -> String {
        let now = Int64(Date.now.timeIntervalSince1970)
        return try signed(
            #"{"alg":"ES256","typ":"JWT","kid":"ec"}"#,
            """
            {"iss":"\(issuer)","aud":["orders","x"],"sub":"\(subject)","iat":\(now),"exp":\(now + 600)\(more)}
            """)
    }

    private static func signed(_ header: String, _ claims: String) throws -> String {
        let input = Base64URL.string(header.utf8) + "." + Base64URL.string(claims.utf8)
        return input + "." + Base64URL.string(try key.signature(for: Data(input.utf8)).rawRepresentation)
    }

    private static let own = ["Gatehouse-User-Id", "Gatehouse-Session-Id", "Gatehouse-Role", "Gatehouse-Store-Ids"]

    @Test("They come in fields of their own, which no client can set")
    func fields() async throws {
        try await Self.withGateway(Self.options()) { gateway in
            let user = UUID().uuidString.lowercased()
            let forged =
                (Self.own + ["Gatehouse-External-Subject", "gatehouse_external_issuer", "Gatehouse-External-Roles"])
                .map { "\($0): forged\r\n" }.joined()
            // A name that looks like one of Gatehouse's users, a role that looks like one of its roles.
            let more = #","roles":["courier","a, b"],"email":"boss@example.com","sid":"x","role":"admin""#
            for token in [try Self.token(subject: user, more), try Self.token(subject: "a b\u{E9}%")] {
                #expect(try await gateway.send("GET /partner", fields: forged, token: token).status == 200)
            }
            let (first, second) = (gateway.team.requests[0], gateway.team.requests[1])
            for name in Self.own {
                #expect(first.field(name) == nil && second.field(name) == nil, "\(name)")
            }
            #expect(first.field("Gatehouse-External-Issuer") == Self.issuer)
            #expect(first.field("Gatehouse-External-Subject") == user)
            #expect(first.field("Gatehouse-External-Roles") == "courier,a%2C%20b")
            #expect(first.field("Gatehouse-Claim-Iss") == Self.issuer)
            #expect(first.field("Gatehouse-Claim-Email") == "boss@example.com")
            #expect(first.field("Gatehouse-Claim-Email-Verified") == "false")
            #expect(first.field("Gatehouse-Claim-Jti") == nil && first.field("Gatehouse-Claim-Client-Id") == nil)
            #expect(second.field("Gatehouse-External-Subject") == "a%20b%C3%A9%25")
            #expect(second.field("Gatehouse-External-Roles") == nil)

            // Gatehouse's own users, on the same route, come as ever.
            #expect(try await gateway.send("GET /partner", token: GatewayHarness.token()).status == 200)
            let third = gateway.team.requests[2]
            #expect(third.field("Gatehouse-User-Id") != nil && third.field("Gatehouse-External-Issuer") == nil)
        }
    }

    @Test("A token may have header members of its issuer's own, times with a fraction, and no iat")
    func forms() async throws {
        try await Self.withGateway(Self.options()) { gateway in
            let exp = Int64(Date.now.timeIntervalSince1970) + 600
            let claims = #"{"iss":"\#(Self.issuer)","aud":"orders","sub":"user_2","exp":\#(exp).5,"nbf":1.5}"#
            let clerk = try Self.signed(
                #"{"alg":"ES256","cat":"cl_B7d4PD111AAA","kid":"ec","typ":"JWT","oiat":\#(exp)}"#, claims)
            #expect(try await gateway.send("GET /partner", token: clerk).status == 200)
            #expect(try await gateway.send("GET /partner", token: Self.token()).status == 200)
            let (without, with) = (gateway.team.requests[0], gateway.team.requests[1])
            #expect(without.field("Gatehouse-External-Subject") == "user_2")
            #expect(without.field("Gatehouse-Claim-Iat") == nil && with.field("Gatehouse-Claim-Iat") != nil)
            for member in [#""crit":["exp"]"#, #""b64":false"#, #""jwk":{}"#, #""x5c":[]"#] {
                let token = try Self.signed(#"{"alg":"ES256","kid":"ec","typ":"JWT",\#(member)}"#, claims)
                #expect(try await gateway.send("GET /partner", token: token).status == 401, "\(member)")
            }
        }
    }

    @Test("A route may ask them too for a recent proof, as far as their issuer tells of one")
    func recentProof() async throws {
        try await Self.withGateway(Self.options()) { gateway in
            let now = Int64(Date.now.timeIntervalSince1970)
            for more in ["", #","auth_time":\#(now - 700)"#, #","auth_time":"\#(now)""#, #","auth_time":\#(now)e0"#] {
                let answer = try await gateway.send("GET /recent", token: Self.token(more))
                #expect(answer.code == "REAUTHENTICATION_REQUIRED", "\(more)")
            }
            let token = try Self.token(#","auth_time":\#(now - 30),"amr":["pwd"]"#)
            #expect(try await gateway.send("GET /recent", token: token).status == 200)
            let request = try #require(gateway.team.requests.first)
            #expect(request.field("Gatehouse-Authentication-Time") == nil, "they are none of Gatehouse's users")
        }
    }

    @Test("Their roles open a route where the issuers file says which of them counts as which")
    func roles() async throws {
        let courier = try Self.token(#","roles":["courier"]"#)
        let mapped = try Self.token(#","roles":["guest","shop-courier"]"#)
        try await Self.withGateway(Self.options()) { gateway in
            for token in [courier, mapped, try Self.token()] {
                #expect(try await gateway.send("GET /partner-couriers", token: token).status == 403)
            }
            #expect(gateway.team.begun == 0)
        }
        try await Self.withGateway(Self.options(roleNames: ["shop-courier": "courier"])) { gateway in
            #expect(try await gateway.send("GET /partner-couriers", token: courier).status == 403)
            #expect(try await gateway.send("GET /partner-couriers", token: mapped).status == 200)
            // The service is told the issuer's names.
            let told = gateway.team.requests[0]
            #expect(
                told.field("Gatehouse-External-Roles") == "guest,shop-courier" && told.field("Gatehouse-Role") == nil)
            let own = try GatewayHarness.token(GatewayHarness.claims(role: "courier"))
            #expect(try await gateway.send("GET /partner-couriers", token: own).status == 200)
        }
    }

    @Test("An issuer that is trusted as Gatehouse says who its users are as Gatehouse does")
    func trusted() async throws {
        try await Self.withGateway(Self.options()) { gateway in
            var claims = GatewayHarness.claims(role: "courier")
            claims.issuer = "https://other-gatehouse.test"
            let token = try GatewayHarness.token(claims)
            #expect(try await gateway.send("GET /partner-couriers", token: token).status == 200)
            let told = gateway.team.requests[0]
            #expect(told.field("Gatehouse-User-Id") == claims.subject.uuidString.lowercased())
            #expect(told.field("Gatehouse-Role") == "courier")
            #expect(told.field("Gatehouse-Claim-Iss") == "https://other-gatehouse.test")
            #expect(told.field("Gatehouse-External-Subject") == nil)
            // Nor do the other issuer's keys speak for it, or its tokens look so elsewhere.
            #expect(try await gateway.send("GET /team", token: token).status == 401)
            #expect(try await gateway.send("GET /v1/auth/me", token: try Self.token()).status == 401)
        }
    }

    @Test("Gatehouse's own routes admit only its own users, however much another issuer is trusted")
    func builtInRoutes() async throws {
        try await Self.withGateway(Self.options()) { gateway in
            var claims = GatewayHarness.claims(role: "operator")
            claims.issuer = "https://other-gatehouse.test"
            let tokens = [try Self.token(), try GatewayHarness.token(claims)]
            // All on one event loop, whose cache holds the tokens from then on.
            let client = try await gateway.connect()
            func status(_ line: String, _ token: String) async throws -> Int {
                try await client.send(GatewayHarness.request(line, token: token))
                return try await client.answer().status
            }
            for token in tokens { #expect(try await status("GET /partner", token) == 200) }

            var reported = 0
            for route in PublicRoute.all where route.bearer != .none {
                let path = route.path.replacing(/{(\w+)}/) { name in
                    ["provider": "apple", "kind": "email"][name.1] ?? UUID().uuidString
                }
                for line in ["\(route.method) \(path)", "\(route.method) /api\(path)"] {
                    for token in tokens {
                        let expected = route.bearer == .reported ? 200 : 401
                        #expect(try await status(line, token) == expected, "\(line)")
                    }
                }
                if route.bearer == .reported { reported += 4 }
            }
            // At logout and with a code the service answers itself: it is told of a bad bearer, and of no user.
            #expect(reported == 8 && gateway.own.requests.count == reported)
            let users = Self.own + ["Gatehouse-External-Issuer", "Gatehouse-External-Subject", "Authorization"]
            for request in gateway.own.requests {
                #expect(request.field(HeaderName.bearerError) == "INVALID_TOKEN")
                for name in users { #expect(request.field(name) == nil, "\(name)") }
            }
            await client.close()
        }
    }

    @Test("Each of them has a limit of their own, however their names begin")
    func limits() async throws {
        var options = Self.options()
        options.settings.userLimit = RateLimit(capacity: 1, perSecond: 0.001)
        try await Self.withGateway(options) { gateway in
            let long = String(repeating: "a", count: 254)
            for subject in [long + "b", long + "c"] {
                let token = try Self.token(subject: subject)
                #expect(try await gateway.send("GET /partner", token: token).status == 200)
                #expect(try await gateway.send("GET /partner", token: token).status == 429)
            }
        }
    }
}
