import Foundation
import NIOCore
import NIOHTTP1
import Synchronization
import TestKit
import Testing

@testable import GatewayService

@Suite("How an exchange ends on the client's side")
struct ExchangeEndTests {
    @Test("A body that does not come is the client's fault: 400, and the connection ends")
    func slowBody() async throws {
        try await GatewayHarness.withGateway(.init { $0.teamTimeout = .seconds(1) }) { gateway in
            for framing in ["Content-Length: 5\r\n\r\nhe", "Transfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n"] {
                let client = try await gateway.connect()
                try await client.send("POST /open HTTP/1.1\r\nHost: h\r\n" + framing)
                let answer = try await client.answer()
                #expect(answer.status == 400 && answer.code == "INVALID_REQUEST")
                #expect(answer["connection"] == "close")
                _ = try await client.untilClosed()
            }
            #expect(gateway.team.requests.isEmpty)
        }
    }

    @Test("A client that goes away takes its request to the upstream with it")
    func clientGone() async throws {
        try await GatewayHarness.withGateway(.init { $0.teamBehaviour = { _ in [.pause] } }) { gateway in
            let client = try await gateway.connect()
            try await client.send(GatewayHarness.request("GET /open"))
            try await eventually("the upstream has the request") { gateway.team.begun == 1 }
            await client.close()
            try await eventually("the gateway has let the client go") {
                gateway.gateway.openConnections.count == 0
            }
            // The half of a body is no request either.
            let other = try await gateway.connect()
            try await other.send("POST /open HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\nhalf")
            try await eventually("the upstream has the second request") { gateway.team.begun == 2 }
            await other.close()
            try await eventually("the gateway has let the client go") {
                gateway.gateway.openConnections.count == 0
            }
            #expect(gateway.team.requests.count == 1)
        }
    }

    @Test("An answer before the request's end is passed on, and ends the connection")
    func early() async throws {
        try await withEarlyUpstream { port in
            try await GatewayHarness.withGateway(.init { $0.teamPorts = [port] }) { gateway in
                let client = try await gateway.connect()
                try await client.send("POST /open HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000\r\n\r\nfirst")
                let answer = try await client.answer()
                #expect(answer.status == 403 && answer["connection"] == "close")
                _ = try await client.untilClosed()
            }
        }
    }

    @Test("Large bodies stream through in both directions")
    func large() async throws {
        let size = 8_000_000
        let body = String(repeating: "0123456789abcdef", count: size / 16)
        try await GatewayHarness.withGateway(.init { $0.teamBehaviour = { RecordingUpstream.answer($0.text)($0) } }) {
            gateway in
            let answer = try await gateway.send("PUT /open", body: body)
            #expect(answer.body == body)
        }
    }

    @Test("When the process is to stop, requests in flight end and the others are let go")
    func drain() async throws {
        try await GatewayHarness.withGateway(.init { $0.teamBehaviour = { _ in [.pause] } }) { gateway in
            let idle = try await gateway.connect()
            try await idle.send(GatewayHarness.request("GET /livez"))
            #expect(try await idle.answer().status == 200)
            let busy = try await gateway.connect()
            try await busy.send("POST /open HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhe")
            try await eventually("the upstream has the request") { gateway.team.begun == 1 }
            gateway.team.behaviour.withLock { $0 = RecordingUpstream.answer("done") }
            gateway.stop()
            _ = try await idle.untilClosed()
            try await busy.send("llo")
            let answer = try await busy.answer()
            #expect(answer.body == "done" && answer["connection"] == "close")
        }
    }
}
