import Foundation
import NIOHTTP1
import TestKit
import Testing

@testable import GatewayService

@Suite("The access log")
struct AccessLogTests {
    private func lines(
        _ share: Double, _ body: @Sendable (GatewayHarness) async throws -> Void
    ) async throws -> [String] {
        let log = CapturedLog()
        let options = GatewayHarness.Options {
            $0.logger = log.logger
            $0.settings.accessLogShare = share
            $0.settings.trustedProxies = TrustedProxies(["127.0.0.1"])!
            $0.teamBehaviour = { request in
                request.head.uri.contains("broken")
                    ? [.bytes("HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n")]
                    : RecordingUpstream.answer("hello")(request)
            }
        }
        try await GatewayHarness.withGateway(options, body)
        return log.lines.filter { $0.hasPrefix("info request ") }
    }

    @Test("A line for every answer: who asked for what, what came of it, and nothing secret")
    func lines() async throws {
        let token = try GatewayHarness.token()
        let lines = try await lines(1) { gateway in
            let fields = "X-Forwarded-For: 1.2.3.4:5678\r\nX-Request-Id: abcdefgh12345678\r\n"
            _ = try await gateway.send("POST /team/x?secret=1", fields: fields, body: "12345678", token: token)
            _ = try await gateway.send("GET /team/x?secret=1", fields: "X-Forwarded-For: [2001:db8::1]:443\r\n")
            _ = try await gateway.send("GET /nothing?secret=1", token: "secret")
            _ = try await gateway.send("GET /open/../x?secret=1")
            _ = try await gateway.send("GET /livez")
            let client = try await gateway.connect()
            try await client.send("TRACE /open/a?secret HTTP/1.1\r\nHost: h\r\n\r\n")
            _ = try await client.answer()
            await client.close()
        }
        #expect(lines.count == 6)
        #expect(!lines.contains { $0.contains("secret") || $0.contains(token) })
        func line(_ text: String) -> String { lines.first { $0.contains(text) } ?? "" }
        let forwarded = line("\"method\": POST")
        for part in [
            "\"path\": /team/x", "\"route\": /team", "\"status\": 200", "\"client\": 1.2.3.4", "\"durationMs\": ",
            "\"upstreamMs\": ", "\"bytesIn\": 8", "\"bytesOut\": 5", "\"request_id\": abcdefgh12345678",
            "\"trace_id\": ",
            "\"protocol\": HTTP/1.1",
        ] {
            #expect(forwarded.contains(part), "\(part) in \(forwarded)")
        }
        #expect(!forwarded.contains("refusal"))
        let refused = line("2001:db8::1")
        for part in ["\"status\": 401", "\"refusal\": INVALID_TOKEN", "\"route\": /team", "\"path\": /team/x"] {
            #expect(refused.contains(part), "\(part) in \(refused)")
        }
        #expect(line("NOT_FOUND").contains("\"path\": /nothing"))
        #expect(line("malformed: path").contains("\"status\": 400"))
        #expect(line("/livez").contains("\"status\": 200"))
        #expect(line("METHOD_NOT_ALLOWED").contains("\"path\": /open/a"))
    }

    @Test("An answer that is cut says why, in the log and in the metrics", arguments: ["slow reader", "garbage"])
    func cut(reason: String) async throws {
        let log = CapturedLog()
        let options = GatewayHarness.Options {
            $0.logger = log.logger
            $0.settings.accessLogShare = 1
            $0.settings.minimumResponseRate = 1 << 30
            $0.settings.responseTimeout = .milliseconds(200)
            let rest = reason == "garbage" ? "no chunk" : "800000\r\n" + String(repeating: "x", count: 8 << 20) + "\r\n"
            let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
            $0.teamBehaviour = { _ in [.bytes(head + rest), .pause] }
        }
        try await GatewayHarness.withGateway(options) { gateway in
            let client = try await RawClient.connect(port: gateway.port, reads: false)
            try await client.send(GatewayHarness.request("GET /open"))
            try await eventually("it is told of") {
                log.lines.contains { $0.hasPrefix("info request ") && $0.contains("\"refusal\": \(reason)") }
            }
            await client.close()
        }
    }

    @Test("The access log leaves out a token that a client put into a path")
    func tokenInPath() async throws {
        let token = try GatewayHarness.token()
        let lines = try await lines(1) { gateway in
            for path in ["/open/\(token)/end", "/nothing/\(token)"] { _ = try await gateway.send("GET \(path)") }
            _ = try await gateway.send("GET /open/\(String(repeating: "a", count: 40))")
        }
        #expect(!lines.contains { $0.contains(token.prefix(41)) })
        for path in ["/open/…/end", "/nothing/…", "/open/\(String(repeating: "a", count: 40))"] {
            #expect(lines.contains { $0.contains("\"path\": \(path)") }, "\(path)")
        }
    }

    @Test("Of what ends well, and of refusals, a share is written; a service's failure always")
    func share() async throws {
        let lines = try await lines(0) { gateway in
            for path in ["/open", "/nothing", "/team", "/open/broken"] { _ = try await gateway.send("GET \(path)") }
        }
        #expect(lines.count == 1 && lines.first?.contains("\"path\": /open/broken") == true)
        let some = try await self.lines(0.5) { gateway in
            let client = try await gateway.connect()
            for _ in 0..<400 {
                try await client.send(GatewayHarness.request("GET /nothing"))
                _ = try await client.answer()
            }
            await client.close()
        }
        #expect((100...300).contains(some.count))
    }
}
