import Foundation
import GatehouseServiceContracts
import NIOHTTP1
import Testing

@testable import GatewayService

/// What the gateway itself answers where OAuth's clients ask (RFC 6749 §5.2).
@Suite("Refusals on OAuth's routes")
struct OAuthErrorTests {
    private struct Body: Decodable {
        var error: String
        var error_description: String
    }

    private func expect(
        _ answer: RawClient.Answer, _ status: Int, _ error: String, location: SourceLocation = #_sourceLocation
    ) throws {
        #expect(answer.status == status, sourceLocation: location)
        #expect(answer["content-type"] == "application/json", sourceLocation: location)
        #expect(answer["cache-control"] == "no-store", sourceLocation: location)
        let body = try JSONDecoder().decode(Body.self, from: Data(answer.body.utf8))
        #expect(body.error == error, sourceLocation: location)
        #expect(!body.error_description.isEmpty, sourceLocation: location)
    }

    /// A port at which no service listens: below those that are given out, so that no other test gets it.
    private let closedPort = 1

    @Test("An outage of tokens is temporary, never the client's fault", arguments: ["/oauth/token", "/oauth/revoke"])
    func outage(_ path: String) async throws {
        try await GatewayHarness.withGateway(.init { $0.ownPort = closedPort }) { gateway in
            let answer = try await gateway.send("POST \(path)", body: "token=a")
            try expect(answer, 503, "temporarily_unavailable")
            #expect(answer["retry-after"] == "1")
            let own = try await gateway.send("POST /v1/auth/refresh", body: "{}")
            #expect(own.status == 503 && own["content-type"] == "application/problem+json")
        }
        let garbage = GatewayHarness.Options { $0.ownBehaviour = { _ in [.bytes("garbage\r\n\r\n")] } }
        try await GatewayHarness.withGateway(garbage) { gateway in
            try expect(try await gateway.send("POST \(path)", body: "token=a"), 503, "temporarily_unavailable")
        }
    }

    @Test("An upstream that gives no answer, or none in time")
    func upstreamTrouble() async throws {
        let options = GatewayHarness.Options {
            $0.teamBehaviour = { $0.head.uri == "/late" ? [.pause] : [.close] }
            $0.routes = { team in
                [
                    Route(
                        name: "endpoint", pattern: PathPattern("/endpoint", isPrefix: true)!, methods: .all,
                        authentication: .none, target: .upstream(team), bodyLimit: 1000,
                        timeout: .milliseconds(200), stripsPrefix: true, errorForm: .oauth)
                ]
            }
        }
        try await GatewayHarness.withGateway(options) { gateway in
            for path in ["/endpoint/late", "/endpoint/gone"] {
                let answer = try await gateway.send("POST \(path)", body: "token=a")
                try expect(answer, 503, "temporarily_unavailable")
                #expect(answer["retry-after"] == "1")
            }
        }
    }

    @Test("A request that is too large, or broken off")
    func badRequests() async throws {
        try await GatewayHarness.withGateway { gateway in
            let large = String(repeating: "a", count: 100_000)
            try expect(try await gateway.send("POST /oauth/token", body: large), 413, "invalid_request")
            let expectation = try await gateway.send("POST /oauth/token", fields: "Expect: more\r\n", body: "token=a")
            try expect(expectation, 400, "invalid_request")
            for (body, status) in [("186A0\r\n\(large)\r\n", 413), ("zz\r\n", 400)] {
                let client = try await gateway.connect()
                let head = "POST /oauth/token HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
                try? await client.send(head + body)
                try expect(try await client.answer(), status, "invalid_request")
                await client.close()
            }
            #expect(gateway.own.requests.isEmpty)
        }
    }
}
