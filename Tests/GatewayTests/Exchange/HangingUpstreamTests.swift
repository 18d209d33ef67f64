import Foundation
import GatehouseServiceContracts
import NIOHTTP1
import Synchronization
import TestKit
import Testing

@testable import GatewayService

@Suite("An upstream that hangs, and one that streams")
struct HangingUpstreamTests {
    /// `GATEHOUSE_HANGING_PERMITS=4096` has the gateway's own number of permits, and needs some 14,000 descriptors.
    private static let permits =
        ProcessInfo.processInfo.environment["GATEHOUSE_HANGING_PERMITS"].flatMap { Int($0) } ?? 400

    private static func route(_ path: String, to upstream: Upstream) -> Route {
        Route(
            name: path, pattern: PathPattern(path, isPrefix: true)!, methods: .all, authentication: .none,
            target: .upstream(upstream), bodyLimit: 1000, timeout: .seconds(60))
    }

    /// With a second team's upstream, `/other`.
    private func withOther(
        _ change: @Sendable (inout GatewayHarness.Options) -> Void,
        _ body: @Sendable (GatewayHarness) async throws -> Void
    ) async throws {
        let other = RecordingUpstream(RecordingUpstream.answer("other"))
        let port = try await other.start()
        var options = GatewayHarness.Options { $0.teamTimeout = .seconds(600) }
        options.routes = { _ in
            [
                Self.route(
                    "/other",
                    to: Upstream(
                        name: "other", addresses: [.init(host: "127.0.0.1", port: port)], isGatehouse: false))
            ]
        }
        change(&options)
        try await GatewayHarness.withGateway(options, body)
        await other.stop()
    }

    @Test("An upstream hangs: it has at most half of the permits, and other requests are served")
    func hanging() async throws {
        let permits = Self.permits
        let count = permits * 9 / 8
        try await withOther {
            $0.teamBehaviour = { _ in [.pause] }
            // All clients have one address here.
            $0.settings.connectionLimit = nil
            $0.settings.maximumRequestsInFlight = permits
            $0.settings.maximumRequestsInFlightPerAddress = permits
            // Event loops do not get the same number of clients.
            $0.settings.maximumUpstreamConnections = permits
        } _: { gateway in
            var clients: [RawClient] = []
            for _ in 0..<count {
                let client = try await gateway.connect()
                try await client.send(GatewayHarness.request("GET /open"))
                clients.append(client)
            }
            try await eventually("it has its share") { gateway.team.begun >= permits / 2 }
            for _ in 0..<20 {
                #expect(try await gateway.send("POST /v1/auth/refresh", body: "{}").status == 200)
                #expect(try await gateway.send("GET /other").body == "other")
            }
            let refused = try await gateway.send("GET /open")
            #expect(refused.status == 503 && refused.code == "UNAVAILABLE" && refused["retry-after"] == "1")
            // All routes to one address have one share.
            #expect(try await gateway.send("GET /small").status == 503)
            #expect(gateway.team.begun <= permits / 2 + 1)
            for client in clients { await client.close() }
            try await eventually(
                """
                all are gone: \(gateway.team.open) of \(gateway.team.connections) connections, \(gateway.team.begun) begun, \
                \(gateway.gateway.openConnections.count) clients
                """
            ) { gateway.team.open == 0 }
            gateway.team.behaviour.withLock { $0 = RecordingUpstream.answer("well") }
            try await eventually("it is served") { try await gateway.send("GET /open").body == "well" }
        }
    }

    private static let stream =
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"

    @Test("Event streams leave permits, connections and the slots of an upstream to requests, and have a limit")
    func streams() async throws {
        let log = CapturedLog()
        try await withOther {
            $0.logger = log.logger
            $0.settings.accessLogShare = 1
            $0.settings.maximumRequestsInFlight = 2
            $0.settings.maximumUpstreamConnections = 1
            $0.settings.maximumWebSockets = 6
            $0.teamBehaviour = { request in
                request.head.uri == "/events" ? [.bytes(Self.stream)] : RecordingUpstream.answer("plain")(request)
            }
        } _: { gateway in
            var clients: [RawClient] = []
            for _ in 0..<6 {
                let client = try await gateway.connect()
                try await client.send(GatewayHarness.request("GET /open/events"))
                _ = try await client.received("hello")
                clients.append(client)
            }
            for _ in 0..<4 { #expect(try await gateway.send("GET /open").body == "plain") }
            // The log's lines and the histogram are written together.
            func recorded() -> Int {
                log.lines.count { $0.contains("/open/events") && $0.contains("\"status\": 200") }
            }
            #expect(recorded() == 6, "they are recorded when they begin")
            let asked = gateway.team.requests.count
            // One that says what it wants costs the service nothing.
            let early = try await gateway.send("GET /open/events", fields: "Accept: text/event-stream\r\n")
            #expect(early.status == 503 && gateway.team.requests.count == asked)
            let late = try await gateway.send("GET /open/events")
            #expect(late.status == 503 && late.code == "UNAVAILABLE" && late["retry-after"] == "1")
            #expect(try await gateway.send("GET /open").body == "plain")

            await clients[0].close()
            try await eventually("there is room for another") {
                let next = try await gateway.connect()
                try await next.send(GatewayHarness.request("GET /open/events"))
                clients.append(next)
                return try await next.received("\r\n\r\n").contains("hello")
            }
            for client in clients { await client.close() }
            try await eventually("their connections are let go") {
                gateway.gateway.streams.inUse == 0
            }
            #expect(recorded() == 7, "none is recorded again when it ends")
        }
    }

    @Test("One address has no more than its part of the streams")
    func streamsOfAnAddress() async throws {
        try await withOther {
            $0.settings.trustedProxies = TrustedProxies(["127.0.0.1"])!
            $0.settings.maximumWebSocketsPerNetwork = 2
            $0.teamBehaviour = { _ in [.bytes(Self.stream)] }
        } _: { gateway in
            func ask(from address: String, _ fields: String = "") async throws -> RawClient {
                let client = try await gateway.connect()
                let fields = "X-Forwarded-For: \(address)\r\n" + fields
                try await client.send(GatewayHarness.request("GET /open/events", fields: fields))
                return client
            }
            var open: [RawClient] = []
            for address in ["203.0.113.1", "203.0.113.1", "203.0.113.2"] {
                open.append(try await ask(from: address))
                _ = try await open.last?.received("hello")
            }
            for fields in ["", "Accept: text/event-stream\r\n"] {
                let refused = try await ask(from: "203.0.113.1", fields)
                let answer = try await refused.answer()
                #expect(answer.status == 503 && answer.code == "UNAVAILABLE")
                await refused.close()
            }
            for client in open { await client.close() }
            try await eventually("all permits are free") { gateway.gateway.streams.inUse == 0 }
            let next = try await ask(from: "203.0.113.1")
            _ = try await next.received("hello")
            await next.close()
        }
    }

    @Test("Event streams are spread by the number of them")
    func spread() async throws {
        let upstreams = [
            RecordingUpstream({ _ in [.bytes(Self.stream)] }), RecordingUpstream({ _ in [.bytes(Self.stream)] }),
        ]
        let ports = [try await upstreams[0].start(), try await upstreams[1].start()]
        try await GatewayHarness.withGateway(.init { $0.teamPorts = ports }) { gateway in
            var clients: [RawClient] = []
            for _ in 0..<30 {
                let client = try await gateway.connect()
                try await client.send(
                    GatewayHarness.request("GET /open/events", fields: "Accept: text/event-stream\r\n"))
                _ = try await client.received("hello")
                clients.append(client)
            }
            // One on each of two event loops.
            #expect(abs(upstreams[0].open - upstreams[1].open) <= 2)
            for client in clients { await client.close() }
        }
        for upstream in upstreams { await upstream.stop() }
    }
}
