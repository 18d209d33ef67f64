import Foundation
import GatehouseBytes
import GatehouseServiceContracts
import Testing

@testable import GatewayService

@Suite("Pages of other origins")
struct CORSTests {
    private func withGateway(
        _ policy: CORSPolicy, _ body: @Sendable (GatewayHarness) async throws -> Void
    ) async throws {
        let options = GatewayHarness.Options {
            $0.teamBehaviour = RecordingUpstream.answer(
                "team", fields: "Access-Control-Allow-Origin: https://upstream.test\r\nETag: x\r\n")
            $0.routes = { team in
                [
                    Route(
                        name: "/pages", pattern: PathPattern("/pages", isPrefix: true)!, methods: [.get, .post],
                        authentication: .required, target: .upstream(team), bodyLimit: 10, timeout: .seconds(30),
                        cors: policy)
                ]
            }
        }
        try await GatewayHarness.withGateway(options, body)
    }

    private static let app = "https://app.example.com"
    private let ask = "Origin: \(app)\r\nAccess-Control-Request-Method: POST\r\n"

    @Test("A browser that asks is answered by the gateway, without a bearer")
    func preflight() async throws {
        let policy = CORSPolicy(
            origins: Set(verbatim: [Self.app]), headers: ["Authorization", "X-Mine"], maximumAge: 60)
        try await withGateway(policy) { gateway in
            let client = try await gateway.connect()
            for _ in 0..<2 {
                try await client.send(GatewayHarness.request("OPTIONS /pages/x", fields: ask))
                let answer = try await client.answer()
                #expect(answer.status == 204 && answer["content-length"] == nil)
                #expect(answer["access-control-allow-origin"] == Self.app && answer["vary"] == "Origin")
                #expect(answer["access-control-allow-methods"] == "GET, POST")
                #expect(answer["access-control-allow-headers"] == "Authorization, X-Mine")
                #expect(answer["access-control-max-age"] == "60")
                #expect(answer["access-control-allow-credentials"] == nil)
            }
            let other = try await gateway.send("OPTIONS /pages", fields: ask.replacing("app.", with: "evil."))
            #expect(other.status == 204 && other["access-control-allow-origin"] == nil)
            #expect(gateway.team.begun == 0)
            let put = try await gateway.send("OPTIONS /pages", fields: ask.replacing("POST", with: "PUT"))
            #expect(put.status == 405, "no such request could be sent")
            #expect(try await gateway.send("OPTIONS /team", fields: ask).status == 401, "a route without a policy")
        }
    }

    @Test("Answers say who may read them, refusals too, and only the gateway does")
    func answers() async throws {
        try await withGateway(CORSPolicy(origins: Set(verbatim: [Self.app]), exposed: ["ETag"])) { gateway in
            let token = try GatewayHarness.token()
            let answer = try await gateway.send("GET /pages", fields: "Origin: \(Self.app)\r\n", token: token)
            #expect(answer.status == 200 && answer["etag"] == "x")
            #expect(answer.fields.filter { $0.name == "access-control-allow-origin" }.map(\.value) == [Self.app])
            #expect(answer["access-control-expose-headers"] == "ETag" && answer["vary"] == "Origin")
            for (line, body) in [("GET /pages", ""), ("POST /pages", "more than ten bytes")] {
                let refused = try await gateway.send(
                    line, fields: "Origin: \(Self.app)\r\n", body: body, token: body.isEmpty ? nil : token)
                #expect(refused.status == (body.isEmpty ? 401 : 413))
                #expect(refused["access-control-allow-origin"] == Self.app)
            }
            for fields in ["", "Origin: https://evil.example.com\r\n", "Origin: null\r\n"] {
                let other = try await gateway.send("GET /pages", fields: fields, token: token)
                #expect(other.status == 200 && other["access-control-allow-origin"] == nil)
                #expect(other["vary"] == "Origin")
            }
            // Where the route has no policy, the service's own word goes through.
            let team = try await gateway.send("GET /team", token: token)
            #expect(team["access-control-allow-origin"] == "https://upstream.test" && team["vary"] == nil)
        }
    }

    @Test("Every page may, if the policy says so")
    func everyPage() async throws {
        try await withGateway(CORSPolicy(origins: ["*"])) { gateway in
            let answer = try await gateway.send("OPTIONS /pages", fields: ask)
            #expect(answer["access-control-allow-origin"] == "*")
        }
    }

    @Test(
        "What is no origin",
        arguments: [
            "app.example.com", "https://", "https://a/", "https://a/b", "https://A", "ftp://a", "https://a b", "",
        ])
    func noOrigin(_ text: String) { #expect(!CORSPolicy.isOrigin(text)) }

    @Test("Origins", arguments: ["*", "https://app.example.com", "http://localhost:3000", "https://[::1]:8443"])
    func origin(_ text: String) { #expect(CORSPolicy.isOrigin(text)) }
}
