import Foundation
import NIOHTTP1
import TestKit
import Testing

@testable import GatewayService

@Suite("What of a message is forwarded")
struct MessageForwardingTests {
    @Test("Chunks pass in both directions, with trailers but those of Gatehouse")
    func chunked() async throws {
        try await GatewayHarness.withGateway(
            .init {
                $0.teamBehaviour = { _ in
                    [
                        .bytes("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"),
                        .bytes("1;a=b\r\n!\r\n0\r\nX-Sum: 1\r\nGatehouse-Role: x\r\n\r\n"),
                    ]
                }
            }
        ) { gateway in
            let client = try await gateway.connect()
            try await client.send(
                "POST /open HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n"
                    + "X-Check: 2\r\nGatehouse_User_Id: 3\r\n\r\n")
            let answer = try await client.answer()
            #expect(answer.body == "hello!")
            #expect(answer.raw.contains("X-Sum: 1") && !answer.raw.contains("Gatehouse-Role"))
            let request = try #require(gateway.team.requests.first)
            #expect(request.text == "abcde")
            #expect(request.trailers?.first(name: "X-Check") == "2" && request.trailers?.count == 1)
            try await client.send(GatewayHarness.request("GET /open"))
            #expect(try await client.answer().body == "hello!")
            #expect(gateway.team.connections == 1)
        }
    }

    @Test("The gateway sends 100 (Continue) once an upstream is there to take the body")
    func expectContinue() async throws {
        try await GatewayHarness.withGateway { gateway in
            let client = try await gateway.connect()
            try await client.send(
                "POST /open HTTP/1.1\r\nHost: h\r\nExpect: 100-Continue\r\nContent-Length: 5\r\n\r\n")
            #expect(try await client.answer().status == 100)
            try await client.send("hello")
            #expect(try await client.answer().status == 200)
            #expect(gateway.team.requests.first?.text == "hello")
            #expect(gateway.team.requests.first?.field("Expect") == nil)
            // Refused without the body ever being asked for.
            let other = try await gateway.connect()
            try await other.send(
                "POST /team HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n")
            let refusal = try await other.answer()
            #expect(refusal.status == 401 && refusal["connection"] == "close")
            #expect(try await gateway.send("POST /open", fields: "Expect: x\r\n", body: "a").status == 417)
        }
    }

    @Test(
        "Fields about the connection stay here, in both directions",
        arguments: ["Connection: X-Private, keep-alive\r\n", "Connection: x-private\r\nConnection: close\r\n"])
    func hopByHop(_ connection: String) async throws {
        try await GatewayHarness.withGateway(
            .init {
                $0.teamBehaviour = RecordingUpstream.answer(
                    "x", fields: "Connection: X-Inner\r\nX-Inner: 1\r\nKeep-Alive: timeout=9\r\nX-Outer: 2\r\n")
            }
        ) { gateway in
            let answer = try await gateway.send(
                "GET /open",
                fields: connection + "X-Private: 1\r\nX-Public: 2\r\nKeep-Alive: 5\r\nTE: trailers\r\nUpgrade: h2c\r\n"
                    + "Proxy-Authorization: Basic eA==\r\nHTTP2-Settings: x\r\n")
            #expect(answer["x-inner"] == nil && answer["keep-alive"] == nil && answer["x-outer"] == "2")
            let request = try #require(gateway.team.requests.first)
            #expect(request.field("X-Public") == "2")
            for name in [
                "X-Private", "Keep-Alive", "TE", "Upgrade", "Proxy-Authorization", "HTTP2-Settings", "Connection",
            ] {
                #expect(request.field(name) == nil, "\(name)")
            }
        }
    }

    @Test("Connection: Gatehouse-User-Id takes nothing from the identity")
    func connectionNamesIdentity() async throws {
        try await GatewayHarness.withGateway { gateway in
            let answer = try await gateway.send(
                "GET /team",
                fields:
                    "Connection: Gatehouse-User-Id, X-Forwarded-For, Gatehouse-Credential, Host, Content-Length\r\n",
                token: try GatewayHarness.token())
            #expect(answer.status == 200)
            let request = try #require(gateway.team.requests.first)
            for name in ["Gatehouse-User-Id", "X-Forwarded-For", "Gatehouse-Credential", "Host"] {
                #expect(request.head.headers[name].count == 1, "\(name)")
            }
        }
    }

    @Test("Every answer has one Date: the upstream's, or else the gateway's")
    func date() async throws {
        let old = "Sun, 06 Nov 1994 08:49:37 GMT"
        let started = Date(timeIntervalSince1970: Date.now.timeIntervalSince1970.rounded(.down))
        try await GatewayHarness.withGateway(
            .init {
                $0.teamBehaviour = { request in
                    let fields = request.head.uri == "/dated" ? "dAte: \(old)\r\nAges: x\r\n" : "Link: x\r\n"
                    return RecordingUpstream.answer("x", fields: fields)(request)
                }
            }
        ) { gateway in
            let format = DateFormatter()
            format.locale = Locale(identifier: "en_US_POSIX")
            format.dateFormat = "EEE, dd MMM yyyy HH:mm:ss zzz"
            for line in ["GET /livez", "GET /open", "GET /nowhere", "HEAD /open", "DELETE /livez"] {
                // As old as the last sweep, which begins a second.
                try await eventually("the date is not older than the test") {
                    let dates = try await gateway.send(line).fields.filter { $0.name == "date" }.map(\.value)
                    #expect(dates.count == 1, "\(line)")
                    let date = try #require(dates.first.flatMap(format.date(from:)))
                    #expect(date <= .now)
                    return date >= started
                }
            }
            let dated = try await gateway.send("GET /open/dated")
            #expect(dated.fields.filter { $0.name == "date" }.map(\.value) == [old])
            let client = try await gateway.connect()
            try await client.send("nonsense\r\n\r\n")
            #expect(try await client.answer()["date"] != nil)
        }
    }
}
