import Foundation
import GatehouseServiceContracts
import TestKit
import Testing

@testable import GatewayService

@Suite("Limits of requests by address, user and route")
struct RateLimitedClientTests {
    @Test("Limits by address, and stricter ones where passwords could be guessed")
    func rateLimits() async throws {
        let options = GatewayHarness.Options {
            $0.settings.addressLimit = RateLimit(capacity: 20, perSecond: 0.001)
            $0.settings.signInLimit = RateLimit(capacity: 2, perSecond: 0.001)
        }
        try await GatewayHarness.withGateway(options) { gateway in
            for _ in 0..<2 { #expect(try await gateway.send("POST /v1/auth/login", body: "{}").status == 200) }
            let refused = try await gateway.send("POST /v1/auth/login", body: "{}")
            #expect(refused.status == 429 && refused.code == "RATE_LIMITED")
            #expect((1...1001).contains(Int(refused["retry-after"] ?? "") ?? 0))
            for _ in 0..<17 { #expect(try await gateway.send("GET /open").status == 200) }
            #expect(try await gateway.send("GET /open").status == 429)
            #expect(try await gateway.send("GET /livez").status == 200, "no probe is told of limits")
        }
    }

    @Test("Limits of a user wherever he comes from, and of a route; both say what they are")
    func userLimits() async throws {
        let slow = RateLimit(capacity: 3, perSecond: 0.01)
        let options = GatewayHarness.Options {
            $0.settings.userLimit = slow
            $0.settings.trustedProxies = TrustedProxies(["127.0.0.1"])!
            $0.routes = { team in
                [
                    Route(
                        name: "/limited", pattern: PathPattern("/limited", isPrefix: true)!, methods: .all,
                        authentication: .optional, target: .upstream(team), bodyLimit: 0, timeout: .seconds(30),
                        limit: RateLimit(capacity: 1, perSecond: 0.01))
                ]
            }
        }
        try await GatewayHarness.withGateway(options) { gateway in
            func send(_ path: String, from address: String, token: String? = nil) async throws -> RawClient.Answer {
                try await gateway.send("GET \(path)", fields: "X-Forwarded-For: \(address)\r\n", token: token)
            }
            let user = UUID()
            let tokens = try (0..<2).map { _ in try GatewayHarness.token(GatewayHarness.claims(user: user)) }
            for turn in 0..<3 {
                #expect(try await send("/team", from: "192.0.2.\(turn)", token: tokens[turn % 2]).status == 200)
            }
            let refused = try await send("/team", from: "192.0.2.9", token: tokens[0])
            #expect(refused.status == 429 && refused.code == "RATE_LIMITED")
            #expect(refused["ratelimit-policy"] == #""user";q=3;w=300"#)
            let wait = Int(refused["retry-after"] ?? "") ?? 0
            #expect((1...100).contains(wait))
            #expect(refused["ratelimit"] == #""user";r=0;t=\#(wait)"#)
            #expect(try await send("/team", from: "192.0.2.9", token: try GatewayHarness.token()).status == 200)

            // A route's limit is each user's, or each address's.
            let other = try GatewayHarness.token()
            #expect(try await send("/limited", from: "192.0.2.1", token: other).status == 200)
            let again = try await send("/limited", from: "192.0.2.2", token: other)
            #expect(again.status == 429 && again["ratelimit-policy"] == #""route";q=1;w=100"#)
            #expect(try await send("/limited", from: "192.0.2.1").status == 200)
            #expect(try await send("/limited", from: "192.0.2.1").status == 429)
            #expect(try await send("/limited", from: "192.0.2.2").status == 200)
        }
    }

    @Test("Of refreshes those that are refused are counted, and beyond the limit a few at a time go on")
    func failures() async throws {
        let options = GatewayHarness.Options {
            $0.settings.rejectionLimit = RateLimit(capacity: 2, perSecond: 0.01)
            $0.settings.queueTimeout = .milliseconds(50)
            $0.serviceTimeout = .seconds(600)
            $0.settings.maximumRequestsPerRejectedNetwork = 2
            $0.ownBehaviour = { request in
                if request.text == "held" { return [.pause] }
                let status = request.text == "bad" ? "401 Unauthorized" : "200 OK"
                return [.bytes("HTTP/1.1 \(status)\r\nContent-Length: 0\r\n\r\n")]
            }
        }
        try await GatewayHarness.withGateway(options) { gateway in
            for _ in 0..<5 { #expect(try await gateway.send("POST /v1/auth/refresh", body: "good").status == 200) }
            #expect(try await gateway.send("POST /v1/auth/refresh", body: "bad").status == 401)
            #expect(try await gateway.send("POST /oauth/token", body: "bad").status == 401)
            for _ in 0..<10 { #expect(try await gateway.send("POST /v1/auth/refresh", body: "bad").status == 401) }
            #expect(try await gateway.send("POST /api/v1/auth/refresh", body: "good").status == 200)
            #expect(try await gateway.send("POST /oauth/token", body: "good").status == 200)
            let before = gateway.own.begun
            var clients: [RawClient] = []
            for count in 1...2 {
                clients.append(try await gateway.connect())
                try await clients.last?.send(GatewayHarness.request("POST /v1/auth/refresh", body: "held"))
                try await eventually("it holds a permit") { gateway.own.begun == before + count }
            }
            for path in ["/v1/auth/refresh", "/oauth/token"] {
                let refused = try await gateway.send("POST \(path)", body: "good")
                #expect(refused.status == 429 && refused["ratelimit-policy"]?.hasPrefix(#""failures""#) == true)
            }
            #expect(try await gateway.send("POST /v1/auth/login", body: "bad").status == 401, "has a limit of its own")
            for client in clients { await client.close() }
            try await eventually("the permits are free") { gateway.own.open == 0 }
            #expect(try await gateway.send("POST /v1/auth/refresh", body: "good").status == 200)
            // A body that does not come holds none.
            var slow: [RawClient] = []
            for _ in 0..<2 {
                let client = try await gateway.connect()
                let fields = "Expect: 100-continue\r\nContent-Length: 4\r\n"
                try await client.send(GatewayHarness.request("POST /v1/auth/refresh", fields: fields))
                #expect(try await client.answer().status == 100)
                slow.append(client)
            }
            #expect(try await gateway.send("POST /v1/auth/refresh", body: "good").status == 200)
            for client in slow {
                try await client.send("good")
                #expect(try await client.answer().status == 200)
                await client.close()
            }
        }
    }
}
