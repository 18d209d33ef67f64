import Foundation
import GatehouseAccessTokens
import GatehouseServiceContracts
import Testing

@testable import GatewayService

@Suite("Routes that require a recent authentication")
struct AuthenticationAgeTests {
    private static let options = GatewayHarness.Options {
        $0.routes = { team in
            [
                Route(
                    name: "/payments", pattern: PathPattern("/payments", isPrefix: true)!, methods: .all,
                    authentication: .required, maximumAuthenticationAge: 600, target: .upstream(team), bodyLimit: 0,
                    timeout: .seconds(30))
            ]
        }
    }

    private static func token(age: Int64?) throws -> String {
        var claims = GatewayHarness.claims()
        claims.authenticationTime = age.map { Int64(Date.now.timeIntervalSince1970) - $0 }
        claims.authenticationMethods = ["pwd"]
        return try GatewayHarness.token(claims)
    }

    @Test(
        "A token whose authentication is too old, or that does not tell of one, is refused before anything is forwarded"
    )
    func refused() async throws {
        try await GatewayHarness.withGateway(Self.options) { gateway in
            for age in [606, 86_400, nil] as [Int64?] {
                // What a client says of itself counts for nothing.
                let forged = "Gatehouse-Authentication-Time: \(Int64(Date.now.timeIntervalSince1970))\r\n"
                let token = try Self.token(age: age)
                for _ in 0..<2 {
                    let answer = try await gateway.send("GET /payments", fields: forged, token: token)
                    #expect(answer.status == 403 && answer.code == "REAUTHENTICATION_REQUIRED")
                    let challenge = answer["www-authenticate"]
                    #expect(challenge?.hasPrefix(#"Bearer error="insufficient_user_authentication""#) == true)
                    #expect(challenge?.hasSuffix(#"max_age="600""#) == true)
                }
                #expect(try await gateway.send("GET /team", fields: forged, token: token).status == 200)
            }
            #expect(gateway.team.begun == 3, "what asks for no proof")
            let times = gateway.team.requests.map { $0.field("Gatehouse-Authentication-Time").flatMap { Int64($0) } }
            let now = Int64(Date.now.timeIntervalSince1970)
            #expect(times.compactMap { $0 }.count == 2 && times.compactMap { $0 }.allSatisfy { now - $0 >= 606 })
            #expect(try await gateway.send("GET /payments").code == "INVALID_TOKEN")
        }
    }

    @Test("A recent one is forwarded, with its time and its methods")
    func forwarded() async throws {
        try await GatewayHarness.withGateway(Self.options) { gateway in
            for age in [0, 590, -30] as [Int64] {
                #expect(try await gateway.send("GET /payments", token: Self.token(age: age)).status == 200)
            }
            let request = try #require(gateway.team.requests.first)
            #expect(request.field("Gatehouse-Authentication-Methods") == "pwd")
            #expect(request.field("Gatehouse-Authentication-Time").flatMap { Int64($0) } != nil)
        }
    }

    @Test("A token that was verified once grows too old as any other")
    func ages() {
        var claims = GatewayHarness.claims()
        func isRecent(_ now: Int64) -> Bool {
            VerifiedToken(claims, identityLines: [], generation: 0).isAuthenticated(within: 600, now: now)
        }
        #expect(!isRecent(0), "it does not tell")
        claims.authenticationTime = 1_800_000_000
        #expect(isRecent(1_800_000_000) && isRecent(1_800_000_605) && isRecent(1_799_990_000))
        #expect(!isRecent(1_800_000_606) && !isRecent(.max))
    }
}
