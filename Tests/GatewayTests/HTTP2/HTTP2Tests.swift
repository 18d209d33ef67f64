import Foundation
import NIOCore
import NIOHPACK
import NIOHTTP1
import NIOHTTP2
import Synchronization
import TestKit
import Testing

@testable import GatewayService

@Suite("HTTP/2")
struct HTTP2Tests {
    @Test("Many requests at once pass on one connection, and services see them as any others")
    func plain() async throws {
        try await GatewayHarness.withHTTP2Gateway { gateway, connect in
            let client = try await connect()
            let token = try GatewayHarness.token()
            try await withThrowingTaskGroup(of: HTTP2Client.Answer.self) { requests in
                for number in 0..<50 {
                    requests.addTask {
                        try await client.send(
                            HPACKHeaders.request("GET", "/team/\(number)", [("authorization", "Bearer \(token)")]))
                    }
                }
                for try await answer in requests {
                    #expect(answer.status == 200 && answer.body == "team" && answer.isComplete)
                    #expect(answer.fields.first(name: "x-request-id") != nil)
                    #expect(answer.fields.first(name: "content-length") == "4")
                    #expect(answer.fields.first(name: "connection") == nil)
                }
            }
            #expect(Set(gateway.team.requests.map(\.head.uri)) == Set((0..<50).map { "/\($0)" }))
            for request in gateway.team.requests {
                #expect(request.field("X-Forwarded-Proto") == "https")
                #expect(request.field("X-Forwarded-Host") == "gatehouse.test")
                #expect(request.field("Via") == "2.0 gatehouse")
                #expect(request.field("X-Forwarded-For") == "127.0.0.1")
                #expect(request.field("Gatehouse-Role") == "customer")
                #expect(request.field("Authorization") == nil)
            }
            #expect(gateway.gateway.openConnections.count == 1)
            await client.close()
            try await eventually("the connection is counted no more") {
                gateway.gateway.openConnections.count == 0
            }
        }
    }

    @Test("Bodies pass in both directions, with a length or without, and trailers with them")
    func bodies() async throws {
        let options = GatewayHarness.Options {
            $0.teamBehaviour = { request in
                let body = String(request.body.readableBytes, radix: 16)
                return [
                    .bytes("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: x-sum\r\n\r\n"),
                    .bytes("\(String(body.utf8.count, radix: 16))\r\n\(body)\r\n0\r\nx-sum: 1\r\n\r\n"),
                ]
            }
        }
        try await GatewayHarness.withHTTP2Gateway(options) { gateway, connect in
            let client = try await connect()
            let body = String(repeating: "0123456789abcdef", count: 1 << 16)
            for length in [nil, body.utf8.count] {
                let fields = length.map { [("content-length", "\($0)")] } ?? []
                let answer = try await client.send(.request("POST", "/open/body", fields), body: body)
                #expect(answer.status == 200 && answer.body == "100000" && answer.isComplete)
                #expect(answer.trailers?.first(name: "x-sum") == "1")
            }
            let sums = try await client.send(
                HPACKHeaders.request("POST", "/open/trailers"), body: "x", trailers: ["x-sum": "2"])
            #expect(sums.status == 200 && sums.body == "1")
            let head = try await client.send(.request("HEAD", "/open/head"))
            #expect(head.status == 200 && head.body.isEmpty && head.isComplete)
            let requests = gateway.team.requests
            #expect(requests.map(\.text) == [body, body, "x", ""])
            #expect(
                requests.map { $0.field("Content-Length") } == [nil, "\(body.utf8.count)", nil, nil])
            #expect(requests[2].trailers?.first(name: "x-sum") == "2")
            await client.close()
        }
    }

    @Test("A long answer waits in its service until the client takes it")
    func backPressure() async throws {
        try await withFloodUpstream(bytes: 64 << 20) { upstream in
            try await GatewayHarness.withHTTP2Gateway(.init { $0.teamPorts = [upstream.port] }) { _, connect in
                let client = try await connect()
                let stream = try await client.open(reads: false)
                try await stream.send(.request("GET", "/open"), endStream: true)
                #expect(try await upstream.writtenWhenItWaits() < 32 << 20)
                // Others are not held up by it.
                #expect(try await client.send(.request("GET", "/nothing")).status == 404)
                try await stream.read()
                let answer = try await stream.answer
                #expect(answer.body.utf8.count == 64 << 20 && answer.isComplete)
                await client.close()
            }
        }
    }

    @Test("Cookies that come in pieces go on as one, and `Expect` is answered")
    func fields() async throws {
        try await GatewayHarness.withHTTP2Gateway { gateway, connect in
            let client = try await connect()
            _ = try await client.send(
                HPACKHeaders.request("GET", "/open", [("cookie", "a=1"), ("te", "trailers"), ("cookie", "b=2")]))
            let request = try #require(gateway.team.requests.first)
            #expect(request.head.headers["cookie"] == ["a=1; b=2"] && request.field("te") == nil)

            let stream = try await client.open()
            try await stream.send(.request("POST", "/open", [("expect", "100-continue"), ("content-length", "2")]))
            try await eventually("the head has come") { gateway.team.begun == 2 }
            try await stream.send(ByteBuffer(string: "hi"), endStream: true)
            let answer = try await stream.answer
            #expect(answer.interim == [100] && answer.status == 200)
            await client.close()
        }
    }

    @Test("The gateway's own answers come as the contract has them, and other streams go on")
    func refusals() async throws {
        try await GatewayHarness.withHTTP2Gateway { gateway, connect in
            let client = try await connect()
            let none = try await client.send(.request("GET", "/team"))
            #expect(none.status == 401 && none.fields.first(name: "www-authenticate") != nil)
            #expect(none.fields.first(name: "content-type") == "application/problem+json")
            #expect(try await client.send(.request("GET", "/nothing")).status == 404)
            #expect(try await client.send(.request("GET", "/open/%2e%2e/internal")).status == 400)
            for (kilobytes, status) in [(15, 200), (17, 431)] {
                let large = [("x", String(repeating: "x", count: kilobytes << 10))]
                #expect(try await client.send(.request("GET", "/open", large)).status == status)
            }

            let long = try await client.open()
            try await long.send(.request("POST", "/small"))
            try await long.send(ByteBuffer(repeating: 0x78, count: 1001))
            let answer = try await long.answer
            #expect(answer.status == 413 && answer.isComplete && answer.reset == .noError)
            #expect(try await client.send(.request("GET", "/open")).status == 200)
            #expect(gateway.team.requests.count == 2)
            await client.close()
        }
    }

    private static let malformed: [(String, HPACKHeaders, String?)] = [
        ("line end in a value", .request("GET", "/open", [("x", "1\r\nGatehouse-Role: admin")]), nil),
        ("line feed in a value", .request("GET", "/open", [("x", "1\nhost: x")]), nil),
        ("zero byte in a value", .request("GET", "/open", [("x", "1\u{0}")]), nil),
        ("blank before a value", .request("GET", "/open", [("x", " 1")]), nil),
        ("blank after a value", .request("GET", "/open", [("x", "1\t")]), nil),
        ("capital in a name", .request("GET", "/open", [("X-a", "1")]), nil),
        ("line end in a name", .request("GET", "/open", [("x: 1\r\nhost", "x")]), nil),
        ("colon in a name", .request("GET", "/open", [("x:", "x")]), nil),
        ("blank in a name", .request("GET", "/open", [("content-length ", "0")]), nil),
        ("no name", .request("GET", "/open", [("", "x")]), nil),
        ("blank in the path", .request("GET", "/open HTTP/1.1\r\nx: y"), nil),
        ("version in the path", .request("GET", "/open HTTP/1.1"), nil),
        ("no slash", .request("GET", "open"), nil), ("empty path", .request("GET", ""), nil),
        ("absolute path", .request("GET", "https://gatehouse.test/open"), nil),
        ("fragment", .request("GET", "/open#x"), nil), ("UTF-8 in the path", .request("GET", "/open/é"), nil),
        ("request line in the method", .request("GET /internal HTTP/1.1\r\nx: y\r\n\r\nGET", "/open"), nil),
        ("empty method", .request("", "/open"), nil),
        ("CONNECT", [":method": "CONNECT", ":authority": "gatehouse.test"], nil),
        ("extended CONNECT", .request("CONNECT", "/open", [(":protocol", "websocket")]), nil),
        ("Connection", .request("GET", "/open", [("connection", "close")]), nil),
        ("Upgrade", .request("GET", "/open", [("upgrade", "websocket")]), nil),
        ("Transfer-Encoding", .request("POST", "/open", [("transfer-encoding", "chunked")]), "0\r\n\r\n"),
        ("TE", .request("GET", "/open", [("te", "gzip")]), nil),
        ("length above the body", .request("POST", "/open", [("content-length", "10")]), "x"),
        ("length below the body", .request("POST", "/open", [("content-length", "1")]), "GET /internal HTTP/1.1"),
        ("length without a body", .request("POST", "/open", [("content-length", "5")]), nil),
        ("two lengths", .request("POST", "/open", [("content-length", "1"), ("content-length", "2")]), "x"),
        ("length twice", .request("POST", "/open", [("content-length", "1"), ("content-length", "1")]), "x"),
        ("length with a sign", .request("POST", "/open", [("content-length", "+1")]), "x"),
        ("two paths", .request("GET", "/open", [(":path", "/internal")]), nil),
        ("pseudo-header after a field", .request("GET", "/open", [("x", "y"), (":x", "z")]), nil),
        ("status", .request("GET", "/open", [(":status", "200")]), nil),
        ("no scheme", [":method": "GET", ":authority": "gatehouse.test", ":path": "/open"], nil),
        (
            "clear text",
            [":method": "GET", ":scheme": "http", ":authority": "gatehouse.test", ":path": "/open"], nil
        ),
        ("no host", [":method": "GET", ":scheme": "https", ":path": "/open"], nil),
        ("another host", .request("GET", "/open", [("host", "other.test")]), nil),
        (
            "two hosts",
            [":method": "GET", ":scheme": "https", ":path": "/open", "host": "gatehouse.test", "host": "b.test"], nil
        ),
        (
            "user in the authority",
            [":method": "GET", ":scheme": "https", ":authority": "a@gatehouse.test", ":path": "/open"], nil
        ),
    ]

    @Test("What HTTP/1.1 would read otherwise reaches no service")
    func smuggling() async throws {
        try await GatewayHarness.withHTTP2Gateway { gateway, connect in
            for (name, fields, body) in Self.malformed {
                let client = try await connect()
                let answer = try await client.send(fields, body: body)
                #expect([0, 400, 404].contains(answer.status), "\(name): \(answer)")
                #expect(gateway.team.requests.isEmpty && gateway.own.begun == 0, "\(name)")
                // It is that request's trouble alone, unless the connection's compression is broken.
                if name == "no name" {
                    try await client.closed()
                } else {
                    #expect(try await client.send(.request("GET", "/nothing")).status == 404, "\(name)")
                }
                await client.close()
            }
        }
    }

    @Test("A client that gives one request up keeps the others, and the service's connection is let go")
    func reset() async throws {
        let options = GatewayHarness.Options { $0.teamBehaviour = { _ in [.pause] } }
        try await GatewayHarness.withHTTP2Gateway(options) { gateway, connect in
            let client = try await connect()
            let stream = try await client.open()
            try await stream.send(.request("GET", "/open/slow"), endStream: true)
            try await eventually("it has come") { gateway.team.requests.count == 1 }
            await stream.reset()
            try await eventually("its connection is closed") { gateway.team.open == 0 }
            #expect(try await client.send(.request("GET", "/nothing")).status == 404)
            await client.close()
        }
    }

    @Test("A service that breaks off is told of as a reset, never as a whole answer")
    func cut() async throws {
        let options = GatewayHarness.Options {
            $0.teamBehaviour = { _ in [.bytes("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf"), .close] }
        }
        try await GatewayHarness.withHTTP2Gateway(options) { _, connect in
            let client = try await connect()
            let answer = try await client.send(.request("GET", "/open"))
            #expect(answer.reset != nil && !answer.isComplete)
            #expect(try await client.send(.request("GET", "/nothing")).status == 404)
            await client.close()
        }
    }
}
