import Foundation
import GatehouseAccessTokens
import GatehouseServiceContracts
import GatehouseTokenValidation
import TestKit
import Testing

@testable import GatewayService

@Suite("WebSockets")
struct WebSocketTests {
    private static let ask = "Connection: keep-alive, Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: k\r\n"

    /// `/socket` and `/long` go on as WebSocket, `/long` beyond its token; `/anybody` asks for none.
    private static let routes: @Sendable (Upstream) -> [Route] = { team in
        ["/socket", "/long", "/anybody"].map { path in
            Route(
                name: path, pattern: PathPattern(path, isPrefix: true)!, methods: .all,
                authentication: path == "/anybody" ? .none : .required, target: .upstream(team), bodyLimit: 1000,
                timeout: .seconds(30), allowsWebSocket: true, outlivesToken: path == "/long")
        }
    }

    private func withSockets(
        answer: String = TunnelUpstream.switching, settings: GatewaySettings = GatewaySettings(),
        _ body: @Sendable (GatewayHarness, TunnelUpstream) async throws -> Void
    ) async throws {
        try await TunnelUpstream.run(answer: answer) { upstream, port in
            let options = GatewayHarness.Options {
                $0.settings = settings
                $0.teamPorts = [port]
                $0.routes = Self.routes
            }
            try await GatewayHarness.withGateway(options) { try await body($0, upstream) }
        }
    }

    /// With an upstream that speaks plain HTTP.
    private func withGateway(
        _ behaviour: @escaping RecordingUpstream.Behaviour, _ body: @Sendable (GatewayHarness) async throws -> Void
    ) async throws {
        let options = GatewayHarness.Options {
            $0.teamBehaviour = behaviour
            $0.routes = Self.routes
        }
        try await GatewayHarness.withGateway(options, body)
    }

    private func open(
        _ path: String, _ gateway: GatewayHarness, token: String, ahead: String = ""
    ) async throws -> RawClient {
        let client = try await gateway.connect()
        try await client.send(
            GatewayHarness.request("GET \(path)", fields: Self.ask, token: token) + ahead)
        let answer = try await client.answer()
        #expect(answer.status == 101, "\(answer.raw)")
        #expect(answer["connection"] == "Upgrade" && answer["upgrade"] == "websocket")
        #expect(answer["sec-websocket-accept"] == "x")
        return client
    }

    @Test("They are spread evenly over the addresses of an upstream, and count until they close")
    func spread() async throws {
        try await TunnelUpstream.run { one, onePort in
            try await TunnelUpstream.run { other, otherPort in
                let options = GatewayHarness.Options {
                    $0.teamPorts = [onePort, otherPort]
                    $0.routes = Self.routes
                }
                try await GatewayHarness.withGateway(options) { gateway in
                    for _ in 0..<2 {
                        var clients: [RawClient] = []
                        for _ in 0..<30 {
                            clients.append(try await open("/socket", gateway, token: try GatewayHarness.token()))
                        }
                        // One on each of two event loops.
                        #expect(abs(one.open - other.open) <= 2, "\(one.open), \(other.open)")
                        for client in clients { await client.close() }
                        try await eventually("all are closed") { one.open + other.open == 0 }
                    }
                }
            }
        }
    }

    @Test("Open ones have a limit of their own, and leave requests and connections to upstreams alone")
    func limit() async throws {
        var settings = GatewaySettings()
        // On each of two event loops one request, one connection to the upstream and two WebSockets.
        (settings.maximumRequestsInFlight, settings.maximumUpstreamConnections, settings.maximumWebSockets) = (2, 1, 4)
        try await withSockets(settings: settings) { gateway, _ in
            let token = try GatewayHarness.token()
            var open: [RawClient] = []
            var refused = 0
            // More than there is room for, whichever loops they come to.
            while open.count < 4, refused < 1000 {
                let client = try await gateway.connect()
                try await client.send(GatewayHarness.request("GET /long", fields: Self.ask, token: token))
                let answer = try await client.answer()
                if answer.status == 101 {
                    open.append(client)
                } else {
                    #expect(answer.status == 503 && answer.code == "UNAVAILABLE")
                    refused += 1
                    await client.close()
                }
            }
            #expect(open.count == 4)
            let late = try await gateway.connect()
            try await late.send(GatewayHarness.request("GET /long", fields: Self.ask, token: token))
            #expect(try await late.answer().status == 503)
            #expect(try await gateway.send("GET /v1/auth/me", token: token).status == 200)
            for client in open {
                try await client.send("still here")
                #expect(try await client.bytes(10) == Array("still here".utf8))
            }
            await open[0].close()
            try await eventually("its permit is free again") {
                let next = try await gateway.connect()
                defer { Task { await next.close() } }
                try await next.send(GatewayHarness.request("GET /long", fields: Self.ask, token: token))
                return try await next.answer().status == 101
            }
        }
    }

    @Test("Bytes go both ways, those that were sent ahead first")
    func relay() async throws {
        try await withSockets { gateway, upstream in
            let client = try await open(
                "/socket", gateway, token: try GatewayHarness.token(), ahead: "\u{1}\r\n\r\nGET ")
            let ahead = try await client.bytes(9)
            #expect(ahead == Array("\u{1}\r\n\r\nGET ".utf8))
            let long = (0..<(1 << 20)).map { UInt8(truncatingIfNeeded: $0 &* 31) }
            try await client.send(long)
            let echo = try await client.bytes(long.count)
            #expect(echo == long, "the same bytes in the same order")
            let head = upstream.head.lowercased()
            #expect(head.contains("\r\nconnection: upgrade\r\nupgrade: websocket\r\n"))
            #expect(head.contains("\r\nsec-websocket-key: k\r\n"))
            #expect(head.contains("\r\ngatehouse-user-id: ") && !head.contains("\r\nauthorization:"))
            await client.close()
            try await eventually("the upstream is let go") { upstream.open == 0 }
        }
    }

    @Test("Clients that give theirs up leave no port of the gateway taken")
    func ports() async throws {
        try await TunnelUpstream.run { upstream, port in
            let options = GatewayHarness.Options {
                $0.teamPorts = [port]
                $0.routes = Self.routes
            }
            try await GatewayHarness.withGateway(options) { gateway in
                for _ in 0..<20 {
                    let client = try await open("/anybody", gateway, token: try GatewayHarness.token())
                    // The upstream has said it back, so that nothing is on its way.
                    try await client.send("here")
                    #expect(try await client.bytes(4) == Array("here".utf8))
                    await client.close()
                }
                try await eventually("the upstream is let go") { upstream.open == 0 }
                #expect(try waitingSockets(to: port) == 0)
            }
        }
    }

    @Test("The token of a WebSocket expires: the connection ends, unless the route says otherwise")
    func expiry() async throws {
        try await withSockets { gateway, _ in
            let token = try GatewayHarness.token(GatewayHarness.claims(expiresIn: 15))
            let short = try await open("/socket", gateway, token: token)
            let long = try await open("/long", gateway, token: token)
            #expect(try await short.untilClosed(within: .seconds(60)) == "")
            try await long.send("still here")
            _ = try await long.received("still here")
            await long.close()
        }
    }

    @Test("The session of a WebSocket ends: the connection ends, unless the route says otherwise")
    func revocation() async throws {
        try await withSockets { gateway, _ in
            let claims = GatewayHarness.claims()
            let token = try GatewayHarness.token(claims)
            let short = try await open("/socket", gateway, token: token)
            let long = try await open("/long", gateway, token: token)
            let other = try await open("/socket", gateway, token: try GatewayHarness.token())
            gateway.gateway.revoked.apply(
                [(session: claims.sessionID, expiresAt: claims.expiresAt)], isEnd: true,
                now: Int64(Date.now.timeIntervalSince1970))
            #expect(try await short.untilClosed() == "")
            for client in [long, other] {
                try await client.send("still here")
                _ = try await client.received("still here")
            }
        }
    }

    @Test("A gateway that stops ends it with a Close frame for both sides, behind the frame that is on its way")
    func goingAway() async throws {
        try await withSockets { gateway, upstream in
            let client = try await open("/anybody", gateway, token: try GatewayHarness.token())
            let idle = try await gateway.connect()
            // The upstream says it back: half a frame each way.
            try await client.send([0x82, 5, 1])
            #expect(try await client.bytes(3) == [0x82, 5, 1])
            gateway.stop()
            #expect(try await idle.untilClosed() == "")
            try await client.send([2, 3, 4, 5])
            #expect(try await client.bytes(8) == [2, 3, 4, 5, 0x88, 2, 0x03, 0xE9])
            #expect(try await client.untilClosed() == "")
            try await eventually("the upstream is told too") { upstream.heard.count == 15 }
            let last = upstream.heard.suffix(8)
            let (mask, code) = (last.dropFirst(2).prefix(4), last.suffix(2))
            #expect(last.prefix(2) == [0x88, 0x82] && zip(code, mask).map { $0 ^ $1 } == [0x03, 0xE9])
        }
    }

    @Test("Its end is logged where its beginning was, with what it carried", arguments: [0.0, 1.0])
    func log(share: Double) async throws {
        let log = CapturedLog()
        try await TunnelUpstream.run { upstream, port in
            let options = GatewayHarness.Options {
                $0.logger = log.logger
                $0.settings.accessLogShare = share
                $0.teamPorts = [port]
                $0.routes = Self.routes
            }
            try await GatewayHarness.withGateway(options) { gateway in
                let client = try await open("/anybody", gateway, token: try GatewayHarness.token())
                try await client.send("12345")
                #expect(try await client.bytes(5) == Array("12345".utf8))
                await client.close()
                try await eventually("the upstream is let go") { upstream.open == 0 }
            }
        }
        let ends = log.lines.filter { $0.hasPrefix("info WebSocket ended") }
        #expect(ends.count == (share == 0 ? 0 : 1))
        for part in ["\"status\": 101", "\"bytesIn\": 5", "\"bytesOut\": 5", "\"path\": /anybody", "\"durationMs\": "] {
            #expect(ends.allSatisfy { $0.contains(part) }, "\(part) in \(ends)")
        }
    }

    @Test("An upstream that ends ends the client's connection, after what it said last")
    func upstreamEnds() async throws {
        try await withGateway({ _ in [.bytes(TunnelUpstream.switching + "last words"), .close] }) { gateway in
            let client = try await gateway.connect()
            try await client.send(GatewayHarness.request("GET /anybody", fields: Self.ask))
            #expect(try await client.untilClosed().hasSuffix("\r\n\r\nlast words"))
        }
    }

    @Test(
        "What is no wish for a WebSocket, or no route's, is an ordinary request",
        arguments: [
            ("GET /team", ask), ("POST /socket", ask), ("GET /socket", "Connection: Upgrade\r\nUpgrade: h2c\r\n"),
            ("GET /socket", "Upgrade: websocket\r\n"),
            ("GET /socket", "Connection: Upgrade\r\nUpgrade: websocket, h2c\r\n"),
            ("GET /socket", "Connection: Upgrade\r\nUpgrade: websocket\r\nUpgrade: h2c\r\n"),
            ("GET /socket", "Connection: Upgrade\r\nUpgrade: websocket\r\nContent-Length: 1\r\n"),
        ])
    func ordinary(_ line: String, _ fields: String) async throws {
        try await withGateway(RecordingUpstream.answer("ok")) { gateway in
            let body = fields.contains("Content-Length") ? "x" : ""
            let client = try await gateway.connect()
            try await client.send(
                GatewayHarness.request(line, fields: fields, token: try GatewayHarness.token()) + body)
            let answer = try await client.answer()
            #expect(answer.status == 200 && answer["upgrade"] == nil)
            let request = try #require(gateway.team.requests.first)
            #expect(request.field("Upgrade") == nil && request.field("Connection") == nil)
        }
    }

    @Test(
        "An upstream goes on in no other protocol than was asked for",
        arguments: [
            ("", TunnelUpstream.switching),
            (ask, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: upgrade\r\n\r\n"),
            (ask, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n"),
        ])
    func otherProtocols(_ fields: String, _ answer: String) async throws {
        try await withSockets(answer: answer) { gateway, _ in
            let refused = try await gateway.send("GET /socket", fields: fields, token: try GatewayHarness.token())
            #expect(refused.status == 502)
        }
    }

    @Test("An upstream may refuse in plain HTTP")
    func refusal() async throws {
        // Its parser takes what follows a wish for another protocol for that protocol's.
        let no = "HTTP/1.1 403 Forbidden\r\nConnection: close\r\nContent-Length: 2\r\n\r\nno"
        try await withGateway({ _ in [.bytes(no), .close] }) { gateway in
            let token = try GatewayHarness.token()
            let client = try await gateway.connect()
            for fields in [Self.ask, ""] {
                // The connection is of use for another request.
                try await client.send(GatewayHarness.request("GET /socket", fields: fields, token: token))
                let answer = try await client.answer()
                #expect(answer.status == 403 && answer.body == "no")
            }
        }
    }
}
