import Foundation
import GatehouseServiceContracts
import NIOCore
import NIOHTTP1
import TestKit
import Testing

@testable import GatewayService

@Suite("Upstreams and clients that misbehave")
struct UpstreamFaultTests {
    /// A port at which no upstream listens: below those that are given out, so that no other test gets it.
    private let closedPort = 1

    @Test("No upstream listens: 502 for a team's service, 503 for Gatehouse's own")
    func unreachable() async throws {
        try await GatewayHarness.withGateway(
            .init {
                $0.teamPorts = [closedPort]
                $0.ownPort = closedPort
            }
        ) { gateway in
            let team = try await gateway.send("GET /open")
            #expect(team.status == 502 && team.code == "BAD_GATEWAY")
            let own = try await gateway.send("POST /v1/auth/login", body: "{}")
            #expect(own.status == 503 && own.code == "UNAVAILABLE" && own["retry-after"] == "1")
        }
    }

    @Test(
        "An only address that refuses connections: 503 at once, and served when it is back, within probes of a second")
    func refusing() async throws {
        let port = try freePort()
        try await GatewayHarness.withGateway(.init { $0.teamPorts = [port] }) { gateway in
            try await eventually("both event loops know of it") {
                let answer = try await gateway.send("POST /open", body: "x")
                #expect(answer.status == 502 || answer.status == 503)
                guard answer.status == 503 else { return false }
                #expect(answer.code == "UNAVAILABLE" && answer["retry-after"] == "1")
                return true
            }
            let up = RecordingUpstream(RecordingUpstream.answer("up"))
            _ = try await up.start(port: port)
            try await eventually("a connection of the gateway's own has found it") {
                up.connections > 0
            }
            try await eventually("it is served") { try await gateway.send("POST /open", body: "x").body == "up" }
            await up.stop()
        }
    }

    @Test("A client that gives up costs no port of the gateway's")
    func abandoned() async throws {
        let upstream = RecordingUpstream { _ in [.pause] }
        let port = try await upstream.start()
        try await GatewayHarness.withGateway(.init { $0.teamPorts = [port] }) { gateway in
            var clients: [RawClient] = []
            for _ in 0..<20 {
                let client = try await gateway.connect()
                try await client.send(GatewayHarness.request("GET /open"))
                clients.append(client)
            }
            try await eventually("the upstream was asked") { upstream.begun == 20 }
            for client in clients { await client.close() }
            try await eventually("the upstream is let go") { upstream.open == 0 }
            #expect(try waitingSockets(to: port) == 0)
        }
        await upstream.stop()
    }

    @Test("A replica of a team's service that responds with 502, 503 or 504 time after time is set aside")
    func errorStatus() async throws {
        for status in [
            "502 Bad Gateway", "503 Service Unavailable", "504 Gateway Timeout", "500 Error", "429 Too Many",
        ] {
            let bad = RecordingUpstream(RecordingUpstream.answer("bad", status: status))
            let good = RecordingUpstream(RecordingUpstream.answer("good"))
            let ports = [try await bad.start(), try await good.start()]
            try await GatewayHarness.withGateway(.init { $0.teamPorts = ports }) { gateway in
                let client = try await gateway.connect()
                var failures = 0
                for _ in 0..<100 {
                    try await client.send(GatewayHarness.request("POST /open", body: "x"))
                    if try await client.answer().body == "bad" { failures += 1 }
                }
                // Those that set it aside; by chance the others are half.
                let isSetAside = status < "5" ? false : status != "500 Error"
                #expect(isSetAside ? failures < 20 : failures > 20, "\(status): \(failures)")
            }
            await bad.stop()
            await good.stop()
        }
    }

    @Test("Neither the last address of a team's service nor Gatehouse's own are set aside for a status")
    func errorStatusOfOthers() async throws {
        let answer = RecordingUpstream.answer("bad", status: "503 Service Unavailable")
        let options = GatewayHarness.Options {
            $0.teamBehaviour = answer
            $0.ownBehaviour = answer
        }
        try await GatewayHarness.withGateway(options) { gateway in
            let client = try await gateway.connect()
            for number in 1...20 {
                try await client.send(GatewayHarness.request("GET /open"))
                #expect(try await client.answer().body == "bad")
                try await client.send(GatewayHarness.request("POST /v1/auth/refresh", body: "{}"))
                #expect(try await client.answer().body == "bad")
                #expect(gateway.team.begun == number && gateway.own.begun == number)
            }
        }
    }

    @Test("Of several replicas, one that is down is not noticed")
    func replicas() async throws {
        let up = RecordingUpstream(RecordingUpstream.answer("up"))
        let port = try await up.start()
        try await GatewayHarness.withGateway(.init { $0.teamPorts = [closedPort, port] }) { (gateway) async throws in
            for _ in 0..<20 {
                #expect(try await gateway.send("POST /open", body: "x").body == "up")
            }
        }
        await up.stop()
    }

    @Test("One that takes requests and answers none is set aside as well")
    func unanswering() async throws {
        let bad = RecordingUpstream { _ in [.close] }
        let good = RecordingUpstream(RecordingUpstream.answer("good"))
        let ports = [try await bad.start(), try await good.start()]
        try await GatewayHarness.withGateway(.init { $0.teamPorts = ports }) { gateway in
            let client = try await gateway.connect()
            var failures = 0
            for _ in 0..<100 {
                try await client.send(GatewayHarness.request("POST /open", body: "x"))
                if try await client.answer().status != 200 { failures += 1 }
            }
            // Those that set it aside, and the probes.
            #expect(failures >= Circuit.noResponseLimit && failures < 20, "\(failures)")
        }
        await bad.stop()
        await good.stop()
    }

    @Test(
        "Garbage instead of an answer",
        arguments: [
            "SSH-2.0-OpenSSH_9.2\r\n", "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n", "HTTP/1.1 200 OK\nA: b\n\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", "HTTP/1.1 200 OK\r\nA b\r\n\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n",
            "HTTP/1.1 200 OK\r\nA: \(String(repeating: "a", count: 20_000))\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: \(String(repeating: "b,", count: 17))\r\n\r\n",
        ])
    func garbage(_ text: String) async throws {
        let options = GatewayHarness.Options {
            $0.teamBehaviour = { _ in [.bytes(text)] }
            $0.ownBehaviour = { _ in [.bytes(text)] }
        }
        try await GatewayHarness.withGateway(options) { gateway in
            let team = try await gateway.send("GET /open")
            #expect(team.status == 502 && team.code == "BAD_GATEWAY")
            #expect(try await gateway.send("POST /v1/auth/login", body: "{}").status == 503)
        }
    }

    @Test("No answer in time: 504 or 503, and the upstream is let go")
    func slow() async throws {
        let options = GatewayHarness.Options {
            $0.teamBehaviour = { _ in [.pause] }
            $0.teamTimeout = .milliseconds(200)
        }
        try await GatewayHarness.withGateway(options) { gateway in
            let answer = try await gateway.send("GET /open")
            #expect(answer.status == 504 && answer.code == "TIMEOUT")
            #expect(try await gateway.send("POST /open", body: "x").status == 504)
            try await eventually("the upstream is let go") { gateway.team.open == 0 }
        }
    }

    @Test("Who waits for a connection while connecting fails is not forgotten")
    func waitingForAnother() async throws {
        let deaf = try await DeafUpstream.start()
        let options = GatewayHarness.Options {
            $0.settings.maximumUpstreamConnections = 1
            $0.settings.connectTimeout = .milliseconds(300)
            $0.teamPorts = [deaf.port]
            $0.teamTimeout = .seconds(60)
        }
        try await GatewayHarness.withGateway(options) { gateway in
            // More than there are event loops, so that two of them meet on one.
            var clients: [RawClient] = []
            for _ in 0..<4 {
                let client = try await gateway.connect()
                try await client.send(GatewayHarness.request("GET /open"))
                clients.append(client)
            }
            var statuses: [Int] = []
            for client in clients {
                let answer = try await client.answer()
                #expect(["BAD_GATEWAY", "UNAVAILABLE"].contains(answer.code), "\(answer.status) \(answer.body)")
                statuses.append(answer.status)
            }
            // On each loop one connects and one waits; a third that met them there was told at once.
            #expect(statuses.count { $0 == 502 } >= 2, "\(statuses)")
        }
        await deaf.stop()
    }

    @Test("An upstream that goes before its answer; in its head; in its body")
    func cut() async throws {
        let options = GatewayHarness.Options {
            $0.teamBehaviour = { request in
                switch request.head.uri {
                case "/before": [.close]
                case "/head": [.bytes("HTTP/1.1 200 OK\r\nContent-"), .close]
                case "/length": [.bytes("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc"), .close]
                default: [.bytes("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nabc"), .close]
                }
            }
        }
        try await GatewayHarness.withGateway(options) { gateway in
            #expect(try await gateway.send("GET /open/before").status == 502)
            #expect(try await gateway.send("GET /open/head").status == 502)
            // Cut short for the client too: never an end that looks whole.
            for path in ["/open/length", "/open/chunks"] {
                let client = try await gateway.connect()
                try await client.send(GatewayHarness.request("GET \(path)"))
                let text = try await client.untilClosed()
                #expect(text.hasSuffix("abc") || text.hasSuffix("abc\r\n"))
            }
        }
    }

    @Test("An answer that ends with its connection is not complete where that was reset")
    func reset() async throws {
        let head = "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"
        let options = GatewayHarness.Options { $0.teamBehaviour = { _ in [.bytes(head + "half"), .pause] } }
        try await GatewayHarness.withGateway(options) { gateway in
            let client = try await gateway.connect()
            try await client.send(GatewayHarness.request("GET /open"))
            _ = try await client.received("half")
            await gateway.team.resetConnections()
            let text = try await client.untilClosed()
            #expect(!text.hasSuffix("0\r\n\r\n"), "\(text)")
        }
    }

    /// An upstream that answers with the number of the connection, but for one request on the first.
    private func keptConnection(asked path: String, does step: RecordingUpstream.Step) -> GatewayHarness.Options {
        GatewayHarness.Options {
            $0.settings.upstreamIdleTimeout = .seconds(60)
            $0.teamBehaviour = { request in
                request.head.uri == path && request.connection == 1
                    ? [step] : RecordingUpstream.answer("\(request.connection)")(request)
            }
        }
    }

    @Test("A connection that went stale is replaced for what can be repeated, never for a POST")
    func stale() async throws {
        // As if it had closed just before the second request came.
        let options = keptConnection(asked: "/second", does: .close)
        try await GatewayHarness.withGateway(options) { gateway in
            let client = try await gateway.connect()
            try await client.send(GatewayHarness.request("GET /open/first"))
            #expect(try await client.answer().body == "1")
            try await client.send(GatewayHarness.request("GET /open/second"))
            #expect(try await client.answer().body == "2")
            #expect(gateway.team.requests.count == 3)
        }
        try await GatewayHarness.withGateway(options) { gateway in
            let client = try await gateway.connect()
            try await client.send(GatewayHarness.request("GET /open/first"))
            #expect(try await client.answer().body == "1")
            try await client.send(GatewayHarness.request("POST /open/second", body: "x"))
            #expect(try await client.answer().status == 502)
            #expect(gateway.team.requests.count == 2)
        }
        // Of a body that has ended, however empty, the end could not be sent again.
        try await GatewayHarness.withGateway(options) { gateway in
            let client = try await gateway.connect()
            try await client.send(GatewayHarness.request("GET /open/first"))
            #expect(try await client.answer().body == "1")
            try await client.send(
                GatewayHarness.request("DELETE /open/second", fields: "Transfer-Encoding: chunked\r\n") + "0\r\n\r\n")
            #expect(try await client.answer().status == 502)
        }
    }

    @Test("What a stopping replica lost on a new connection goes to another replica, but never a POST")
    func stopping() async throws {
        let stopping = RecordingUpstream { _ in [.close] }
        let other = RecordingUpstream(RecordingUpstream.answer("other"))
        let ports = [try await stopping.start(), try await other.start()]
        let options = GatewayHarness.Options { $0.teamPorts = ports }
        try await GatewayHarness.withGateway(options) { gateway in
            for _ in 0..<20 {
                let status = try await gateway.send("GET /open").status
                #expect(status == 200)
            }
        }
        let lost = stopping.requests.count
        #expect(lost > 0)
        try await GatewayHarness.withGateway(options) { gateway in
            var refused = 0
            for _ in 0..<20 where try await gateway.send("POST /open", body: "x").status == 502 { refused += 1 }
            #expect(refused == stopping.requests.count - lost)
        }
        await stopping.stop()
        await other.stop()
    }

    @Test("A request goes to another upstream: a field says how long it has waited, and the client cannot set it")
    func waited() async throws {
        let options = keptConnection(asked: "/second", does: .pause)
        try await GatewayHarness.withGateway(options) { gateway in
            let client = try await gateway.connect()
            let forged = "Gatehouse-Waited-Ms: 7\r\n"
            try await client.send(GatewayHarness.request("GET /open/first", fields: forged))
            #expect(try await client.answer().body == "1")
            #expect(gateway.team.requests.first?.field(HeaderName.waited) != "7")
            try await client.send(GatewayHarness.request("GET /open/second", fields: forged))
            try await eventually("the upstream was asked") { gateway.team.requests.count == 2 }
            // Here time passes by nature.
            try await Task.sleep(for: .milliseconds(150))
            await gateway.team.closeConnections()
            #expect(try await client.answer().body == "2")
            let waited = try #require(gateway.team.requests.last?.field(HeaderName.waited))
            #expect(Int(waited).map { $0 >= 150 } == true)
        }
    }

    @Test("Bytes that the gateway did not ask for end the upstream's connection, and go to no client")
    func unasked() async throws {
        let options = GatewayHarness.Options {
            $0.teamBehaviour = { _ in
                [
                    .bytes(
                        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"
                    )
                ]
            }
        }
        try await GatewayHarness.withGateway(options) { gateway in
            let client = try await gateway.connect()
            for number in 1...3 {
                try await client.send(GatewayHarness.request("GET /open"))
                #expect(try await client.answer().body == "ok")
                #expect(gateway.team.connections == number)
            }
        }
    }
}
