import Foundation
import GatehouseAccessTokens
import GatehouseBytes
import GatehouseServiceContracts
import GatehouseTokenValidation
import Testing

@testable import GatewayService

/// Unicode's canonical equivalence makes one text of several: names of tokens are compared byte by byte
/// (RFC 7519 §7.3).
@Suite("Names that are equivalent and not the same, through the gateway")
struct VerbatimNamesTests {
    private static let partner = TrustedIssuer(issuer: "https://caf\u{E9}.test", audience: "Kitchen")

    private static let options = GatewayHarness.Options {
        $0.furtherIssuers = [partner]
        $0.routes = { team in
            [
                route("/partner", to: team, issuers: [partner.issuer]),
                route("/head-cook", to: team, roles: ["head-coo\u{212A}", "caissi\u{E9}re"]),
            ]
        }
    }

    private static func route(
        _ path: String, to team: Upstream, roles: [String] = [], issuers: [String] = []
    ) -> Route {
        Route(
            name: path, pattern: PathPattern(path, isPrefix: true)!, methods: .all, authentication: .required,
            roles: Set(verbatim: roles), target: .upstream(team), bodyLimit: 0, timeout: .seconds(30),
            issuers: Set(verbatim: issuers))
    }

    @Test("Another issuer's iss and aud are its own bytes")
    func issuersAndAudiences() async throws {
        let key = try RSAPrivateKey.generate()
        try await GatewayHarness.withGateway(Self.options) { gateway in
            let keys = gateway.gateway.keys
            // The keys were fetched just now. Otherwise the requests would wait for an issuer's next key.
            let now = Int64(Date.now.timeIntervalSince1970)
            _ = keys.demandFetch(of: [0, 1], after: keys.version, now: now)
            try keys.replace(VerificationKeySet(keys: [GatewayHarness.key.publicKey]))
            try keys.replace(VerificationKeySet(keys: [key.publicKey]), of: 1)
            func send(_ issuer: String, _ audience: String) async throws -> Int {
                var claims = GatewayHarness.claims(audience: audience)
                claims.issuer = issuer
                return try await gateway.send("GET /partner", token: GatewayHarness.token(claims, key: key)).status
            }
            #expect(try await send(Self.partner.issuer, Self.partner.audience) == 200)
            #expect(try await send("https://cafe\u{301}.test", Self.partner.audience) == 401)
            #expect(try await send(Self.partner.issuer, "\u{212A}itchen") == 401)
            #expect(gateway.team.begun == 1)
        }
    }

    @Test("A role is its own bytes")
    func roles() async throws {
        try await GatewayHarness.withGateway(Self.options) { gateway in
            func send(_ role: String) async throws -> Int {
                let token = try GatewayHarness.token(GatewayHarness.claims(role: role))
                return try await gateway.send("GET /head-cook", token: token).status
            }
            let roles = ["caissi\u{E9}re", "caissie\u{301}re", "head-coo\u{212A}", "head-cooK"]
            var statuses: [Int] = []
            for role in roles { statuses.append(try await send(role)) }
            #expect(statuses == [200, 403, 200, 403])
            #expect(gateway.team.begun == 2)
        }
    }
}
