import Foundation
import GatehouseAccessTokens
import GatehouseTokenValidation
import NIOHTTP1
import TestKit
import Testing

@testable import GatewayService

@Suite("What upstreams may answer")
struct AnswerTests {
    @Test("Answers without length are passed on; an upstream's HTTP/1.0 is understood")
    func untilClose() async throws {
        try await GatewayHarness.withGateway(
            .init { $0.teamBehaviour = { _ in [.bytes("HTTP/1.0 200 OK\r\nX: y\r\n\r\nto the end"), .close] } }
        ) { gateway in
            let client = try await gateway.connect()
            for _ in 0..<2 {
                try await client.send(GatewayHarness.request("GET /open"))
                #expect(try await client.answer().body == "to the end")
            }
        }
    }

    @Test("Interim answers are not passed on; 204 and 304 have no body")
    func statuses() async throws {
        try await GatewayHarness.withGateway(
            .init {
                $0.teamBehaviour = { request in
                    switch request.head.uri {
                    case "/204": [.bytes("HTTP/1.1 204 No Content\r\n\r\n")]
                    case "/304": [.bytes("HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\nETag: x\r\n\r\n")]
                    default:
                        [
                            .bytes("HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"),
                            .bytes("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"),
                        ]
                    }
                }
            }
        ) { gateway in
            let client = try await gateway.connect()
            for (path, status, body) in [("/204", 204, ""), ("/304", 304, ""), ("/103", 200, "ok"), ("/204", 204, "")] {
                try await client.send(GatewayHarness.request("GET /open\(path)"))
                let answer = try await client.answer()
                #expect(answer.status == status && answer.body == body)
            }
        }
    }

    @Test("An event stream ends when its token expires")
    func expiry() async throws {
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
        let options = GatewayHarness.Options { $0.teamBehaviour = { _ in [.bytes("\(head)5\r\nhello\r\n")] } }
        try await GatewayHarness.withGateway(options) { gateway in
            let client = try await gateway.connect()
            let token = try GatewayHarness.token(GatewayHarness.claims(expiresIn: 15))
            try await client.send(GatewayHarness.request("GET /team/events", token: token))
            #expect(try await client.untilClosed(within: .seconds(60)).hasSuffix("hello\r\n"))
            try await eventually("its upstream is let go") { gateway.team.open == 0 }
        }
    }

    @Test("An event stream ends with its session; a download does not")
    func streamsEnd() async throws {
        @Sendable func stream(_ type: String) -> String {
            "HTTP/1.1 200 OK\r\nContent-Type: \(type)\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"
        }
        try await GatewayHarness.withGateway(
            .init {
                $0.teamBehaviour = { request in
                    switch request.head.uri {
                    case "/events": [.bytes(stream("Text/Event-Stream; charset=utf-8"))]
                    default: [.bytes(stream("text/event-streams"))]
                    }
                }
            }
        ) { gateway in
            let claims = GatewayHarness.claims()
            let token = try GatewayHarness.token(claims)
            var clients: [RawClient] = []
            for path in ["/team/events", "/team/download", "/optional/events"] {
                let client = try await gateway.connect()
                try await client.send(
                    GatewayHarness.request("GET \(path)", token: path.hasPrefix("/team") ? token : nil))
                _ = try await client.received("hello")
                clients.append(client)
            }
            gateway.gateway.revoked.apply(
                [(session: claims.sessionID, expiresAt: claims.expiresAt)], isEnd: true,
                now: Int64(Date.now.timeIntervalSince1970))
            #expect(try await clients[0].untilClosed().hasSuffix("hello\r\n"))
            try await eventually("its upstream is let go, the others' are not") { gateway.team.open == 2 }
        }
    }
}
