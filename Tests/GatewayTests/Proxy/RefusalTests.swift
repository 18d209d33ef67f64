import Foundation
import NIOHTTP1
import Testing

@testable import GatewayService

@Suite("What is refused, and reaches nobody")
struct RefusalTests {
    private func code(_ answer: RawClient.Answer) -> String? {
        let object = try? JSONSerialization.jsonObject(with: Data(answer.body.utf8)) as? [String: Any]
        return object?["code"] as? String
    }

    @Test(
        "Requests that could be smuggled",
        arguments: [
            "POST /open HTTP/1.1\r\nHost: h\r\nContent-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nG",
            "POST /open HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nContent-Length: 6\r\n\r\n0\r\n\r\nG",
            "POST /open HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
            "POST /open HTTP/1.1\r\nHost: h\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
            "POST /open HTTP/1.1\r\nHost: h\r\nTransfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n",
            "POST /open HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
            "GET /open HTTP/1.1\r\nHost: h\r\nHost: i\r\n\r\n",
            "GET /open HTTP/1.1\nHost: h\n\n",
            "GET /open HTTP/1.1\r\n\r\n",
            "GET /open HTTP/1.0\r\nHost: h\r\n\r\n",
            "GET http://h/open HTTP/1.1\r\nHost: h\r\n\r\n",
            "GET /open/../internal HTTP/1.1\r\nHost: h\r\n\r\n",
            "GET /open/%2e%2e/internal HTTP/1.1\r\nHost: h\r\n\r\n",
            "GET /open%2finternal HTTP/1.1\r\nHost: h\r\n\r\n",
            "GET /open%5cinternal HTTP/1.1\r\nHost: h\r\n\r\n",
            "GET /open/%00 HTTP/1.1\r\nHost: h\r\n\r\n",
            "GET /open/%252e%252e/x HTTP/1.1\r\nHost: h\r\n\r\n",
            "GET //open HTTP/1.1\r\nHost: h\r\n\r\n",
            "GET /open;x=y HTTP/1.1\r\nHost: h\r\n\r\n",
            "GET /open#x HTTP/1.1\r\nHost: h\r\n\r\n",
            "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        ])
    func smuggling(_ text: String) async throws {
        try await GatewayHarness.withGateway { gateway in
            let client = try await gateway.connect()
            try await client.send(text + "GET /open/smuggled HTTP/1.1\r\nHost: h\r\n\r\n")
            let answer = try await client.answer()
            #expect(answer.status == 400 && code(answer) == "INVALID_REQUEST")
            #expect(answer["connection"] == "close")
            #expect(answer["content-type"] == "application/problem+json")
            _ = try await client.untilClosed()
            #expect(gateway.team.begun == 0)
        }
    }

    @Test("Bad chunks end the request before the upstream takes it for whole")
    func badChunks() async throws {
        try await GatewayHarness.withGateway { gateway in
            for body in ["5\r\nhelloX\r\n0\r\n\r\n", "zz\r\n", "fffffffffffffffff\r\n", "3\nabc\r\n"] {
                let client = try await gateway.connect()
                try await client.send("POST /open HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n" + body)
                #expect(try await client.answer().status == 400)
                _ = try await client.untilClosed()
            }
            #expect(gateway.team.requests.isEmpty)
        }
    }

    @Test(
        "Identity that a client claims, in any spelling, on any route",
        arguments: [
            "Gatehouse-User-Id", "gatehouse-user-id", "Gatehouse_User_Id", "GATEHOUSE.USER.ID", "gatehouse-role",
            "Gatehouse_Credential", "Gatehouse~Session~Id", "Gatehouse-Future", "X-Forwarded-For", "x_forwarded_for",
            "Forwarded", "X-Real-Ip", "X-Forwarded-Anything", "Gatehouse-Client-Address",
        ])
    func spoofing(_ name: String) async throws {
        try await GatewayHarness.withGateway { gateway in
            for path in ["/open", "/team", "/optional"] {
                let token = path == "/team" ? try GatewayHarness.token() : nil
                #expect(try await gateway.send("GET \(path)", fields: "\(name): evil\r\n", token: token).status == 200)
            }
            for request in gateway.team.requests {
                #expect(!request.head.headers.contains { $0.value.contains("evil") })
            }
            #expect(gateway.team.requests.count == 3)
        }
    }

    @Test("Paths and methods that nobody serves, with and without bearer")
    func unknown() async throws {
        try await GatewayHarness.withGateway { gateway in
            for token in [nil, try GatewayHarness.token(), "junk"] {
                let missing = try await gateway.send("GET /v1/nothing", token: token)
                #expect(missing.status == 404 && code(missing) == "NOT_FOUND")
                for path in ["/internal", "/internal/revocations", "/INTERNAL/x", "/team/internal/x", "/open/internal"]
                {
                    #expect(try await gateway.send("GET \(path)", token: token).status == 404, "\(path)")
                }
                let wrong = try await gateway.send("DELETE /v1/auth/me", token: token)
                #expect(wrong.status == 405 && code(wrong) == "METHOD_NOT_ALLOWED")
                #expect(wrong["allow"] == "GET, PATCH")
                #expect(try await gateway.send("TRACE /open", token: token).status == 405)
            }
            #expect(gateway.own.begun == 0 && gateway.team.begun == 0)
        }
    }

    @Test("Bodies over the limit: told at once, or when they have come so far")
    func largeBodies() async throws {
        try await GatewayHarness.withGateway { gateway in
            let tenMegabytes = String(repeating: "a", count: 10_000_000)
            for path in ["/v1/auth/login", "/v1/auth/refresh", "/small"] {
                let answer = try await gateway.send("POST \(path)", body: tenMegabytes)
                #expect(answer.status == 413 && code(answer) == "PAYLOAD_TOO_LARGE", "\(path)")
            }
            let client = try await gateway.connect()
            try await client.send("POST /small HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n")
            for _ in 0..<200 { try? await client.send("A\r\n0123456789\r\n") }
            #expect(try await client.answer().status == 413)
            #expect(gateway.own.requests.isEmpty && gateway.team.requests.isEmpty)
            // Up to the limit all is well.
            #expect(try await gateway.send("POST /small", body: String(tenMegabytes.prefix(1000))).status == 200)
        }
    }

    @Test("Heads over the limits")
    func largeHeads() async throws {
        try await GatewayHarness.withGateway { gateway in
            let long = try await gateway.send("GET /open", fields: "A: \(String(repeating: "a", count: 20_000))\r\n")
            #expect(long.status == 431 && code(long) == "HEADERS_TOO_LARGE")
            let many = try await gateway.send("GET /open", fields: String(repeating: "A: b\r\n", count: 101))
            #expect(many.status == 431)
            let bearer = try await gateway.send("GET /team", token: String(repeating: "a", count: 9000))
            #expect(bearer.status == 431)
            #expect(gateway.team.begun == 0)
        }
    }

    @Test("Limits by address, and stricter ones where passwords could be guessed")
    func rateLimits() async throws {
        let options = GatewayHarness.Options {
            $0.settings.addressLimit = RateLimit(capacity: 20, perSecond: 0.001)
            $0.settings.signInLimit = RateLimit(capacity: 2, perSecond: 0.001)
        }
        try await GatewayHarness.withGateway(options) { gateway in
            for _ in 0..<2 { #expect(try await gateway.send("POST /v1/auth/login", body: "{}").status == 200) }
            let refused = try await gateway.send("POST /v1/auth/login", body: "{}")
            #expect(refused.status == 429 && code(refused) == "RATE_LIMITED")
            #expect((1...1001).contains(Int(refused["retry-after"] ?? "") ?? 0))
            for _ in 0..<17 { #expect(try await gateway.send("GET /open").status == 200) }
            #expect(try await gateway.send("GET /open").status == 429)
        }
    }

    @Test("Too much at once is refused quickly")
    func overload() async throws {
        let options = GatewayHarness.Options {
            $0.settings.maximumRequestsInFlight = 2
            $0.teamTimeout = .seconds(60)
            $0.teamBehaviour = { _ in [.pause] }
        }
        try await GatewayHarness.withGateway(options) { gateway in
            var clients: [RawClient] = []
            for _ in 0..<6 {
                let client = try await gateway.connect()
                try await client.send(GatewayHarness.request("GET /open"))
                clients.append(client)
            }
            var refused = 0
            for client in clients {
                if let answer = try? await client.answer(within: .milliseconds(300)) {
                    #expect(answer.status == 503 && answer["retry-after"] == "1")
                    refused += 1
                }
            }
            #expect(refused >= 4)
            for client in clients { await client.close() }
        }
    }
}
