import Foundation
import NIOHTTP1
import TestKit
import Testing

@testable import GatewayService

@Suite("Refused requests reach no service")
struct RefusalTests {
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
            #expect(answer.status == 400 && answer.code == "INVALID_REQUEST")
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

    @Test("Paths and methods that no service serves, with and without bearer")
    func unknown() async throws {
        try await GatewayHarness.withGateway { gateway in
            for token in [nil, try GatewayHarness.token(), "junk"] {
                let missing = try await gateway.send("GET /v1/nothing", token: token)
                #expect(missing.status == 404 && missing.code == "NOT_FOUND")
                for path in ["/internal", "/internal/revocations", "/INTERNAL/x", "/team/internal/x", "/open/internal"]
                {
                    #expect(try await gateway.send("GET \(path)", token: token).status == 404, "\(path)")
                }
                let wrong = try await gateway.send("DELETE /v1/auth/me", token: token)
                #expect(wrong.status == 405 && wrong.code == "METHOD_NOT_ALLOWED")
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
                #expect(answer.status == 413 && answer.code == "PAYLOAD_TOO_LARGE", "\(path)")
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
            #expect(long.status == 431 && long.code == "HEADERS_TOO_LARGE")
            let many = try await gateway.send("GET /open", fields: String(repeating: "A: b\r\n", count: 101))
            #expect(many.status == 431)
            let bearer = try await gateway.send("GET /team", token: String(repeating: "a", count: 9000))
            #expect(bearer.status == 431)
            #expect(gateway.team.begun == 0)
        }
    }

    @Test("Connection may name a few fields; every field would be compared with more")
    func connectionOptions() async throws {
        try await GatewayHarness.withGateway { gateway in
            func options(_ count: Int) -> String { String(repeating: "b,", count: count) }
            let spread = String(repeating: "Connection: \(options(4))\r\n", count: 4)
            #expect(try await gateway.send("GET /open", fields: spread).status == 200)
            let bad = [
                "Connection: \(options(17))\r\n", "Connection: \(options(7000))\r\n", spread + "Connection: c\r\n",
                "Connection: \(String(repeating: ",", count: 1100))b\r\n",
                "Host-Like: x\r\nConnection: \(String(repeating: "b", count: 1100))\r\n",
            ]
            for fields in bad {
                let answer = try await gateway.send("GET /open", fields: fields)
                #expect(answer.status == 400 && answer.code == "INVALID_REQUEST", "\(fields.prefix(40))")
            }
            #expect(gateway.team.begun == 1)
        }
    }

    @Test("A Host that is no name of a host")
    func longHost() async throws {
        try await GatewayHarness.withGateway { gateway in
            for (length, status) in [(261, 200), (262, 400)] {
                let client = try await gateway.connect()
                try await client.send("GET /open HTTP/1.1\r\nHost: \(String(repeating: "h", count: length))\r\n\r\n")
                #expect(try await client.answer().status == status)
            }
        }
    }
}
