import Foundation
import GatehouseServiceContracts
import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization
import TestKit
import Testing

@testable import GatewayService

@Suite("Health checks, and replicas that hang")
struct HealthCheckTests {
    private static func isCheck(_ request: RecordingUpstream.Request) -> Bool { request.head.uri == "/health" }

    /// Hangs, its health check too.
    private static let hanging: RecordingUpstream.Behaviour = { _ in [.pause] }

    private func withUpstreams(
        _ one: @escaping RecordingUpstream.Behaviour, _ other: @escaping RecordingUpstream.Behaviour,
        _ body: (_ one: RecordingUpstream, _ other: RecordingUpstream, _ ports: [Int]) async throws -> Void
    ) async throws {
        let (one, other) = (RecordingUpstream(one), RecordingUpstream(other))
        let ports = [try await one.start(), try await other.start()]
        try await body(one, other, ports)
        await one.stop()
        await other.stop()
    }

    @Test("A replica that hangs gets no client's request once its checks fail, and its checks alone bring it back")
    func hangs() async throws {
        try await withUpstreams(Self.hanging, RecordingUpstream.answer("good")) { bad, _, ports in
            let log = CapturedLog()
            let options = GatewayHarness.Options {
                $0.logger = log.logger
                $0.teamPorts = ports
                $0.teamHealthCheck = HealthCheck(
                    path: "/health", interval: .milliseconds(20), timeout: .milliseconds(1500))
            }
            try await GatewayHarness.withGateway(options) { gateway in
                try await eventually("the checks have found it") {
                    log.lines.contains { $0.contains("upstream is unhealthy") }
                }
                let client = try await gateway.connect()
                for number in 0..<60 {
                    let line = number % 2 == 0 ? "GET /open" : "POST /open"
                    try await client.send(GatewayHarness.request(line, body: number % 2 == 0 ? "" : "x"))
                    let answer = try await client.answer()
                    #expect(answer.status == 200 && answer.body == "good")
                }
                #expect(bad.requests.allSatisfy(Self.isCheck), "none but its checks")
                let check = try #require(bad.requests.first)
                #expect(check.field(HeaderName.credential) == "team-credential" && check.head.method == .GET)

                bad.behaviour.withLock { $0 = RecordingUpstream.answer("back") }
                try await eventually("it is asked again") {
                    try await client.send(GatewayHarness.request("POST /open", body: "x"))
                    return try await client.answer().body == "back"
                }
            }
        }
    }

    @Test("Without checks the gateway probes a replica with no POST, and a probe costs no client its answer")
    func probes() async throws {
        try await withUpstreams({ _ in [.close] }, RecordingUpstream.answer("good")) { bad, _, ports in
            let log = CapturedLog()
            let options = GatewayHarness.Options {
                $0.logger = log.logger
                $0.teamPorts = ports
                $0.settings.probeTimeout = .milliseconds(500)
                // A third of it is a probe's.
                $0.teamTimeout = .milliseconds(4500)
            }
            try await GatewayHarness.withGateway(options) { gateway in
                let client = try await gateway.connect()
                func send(_ line: String, body: String = "") async throws -> RawClient.Answer {
                    try await client.send(GatewayHarness.request(line, body: body))
                    return try await client.answer()
                }
                try await eventually("it is set aside") {
                    _ = try await send("POST /open", body: "x")
                    return log.lines.contains { $0.contains("upstream set aside") }
                }
                bad.behaviour.withLock { $0 = Self.hanging }
                let posts = bad.requests.count
                func probes(_ method: String) -> Int {
                    bad.requests.dropFirst(posts).count { $0.head.method.rawValue == method }
                }
                try await eventually("a request that asks for nothing else has probed it") {
                    let posted = try await send("POST /open", body: "x")
                    #expect(posted.body == "good")
                    let got = try await send("GET /open")
                    #expect(got.body == "good", "another address answers it")
                    return probes("GET") > 0
                }
                try await eventually("where only others come the gateway asks itself") {
                    let posted = try await send("POST /open", body: "x")
                    #expect(posted.body == "good")
                    return probes("OPTIONS") > 0
                }
                #expect(probes("POST") == 0)
                bad.behaviour.withLock { $0 = RecordingUpstream.answer("back") }
                try await eventually("it is asked again") { try await send("POST /open", body: "x").body == "back" }
            }
        }
    }

    @Test("An outage of many addresses is not answered by sending every request many times")
    func budget() async throws {
        // No upstream listens at these.
        let closed = [1, 2, 3, 4, 5, 6]
        for (share, isEnough) in [(0.0, false), (1.0, true)] {
            let up = RecordingUpstream(RecordingUpstream.answer("up"))
            let port = try await up.start()
            let options = GatewayHarness.Options {
                $0.teamPorts = closed + [port]
                $0.settings.retryShare = share
            }
            try await GatewayHarness.withGateway(options) { gateway in
                let client = try await gateway.connect()
                var failures = 0
                for _ in 0..<100 {
                    try await client.send(GatewayHarness.request("GET /open"))
                    let answer = try await client.answer()
                    if answer.status != 200 {
                        failures += 1
                        #expect(answer.status == 502)
                    }
                }
                #expect(isEnough ? failures == 0 : (20...95).contains(failures), "\(failures)")
            }
            await up.stop()
        }
    }

    @Test("Addresses that a name comes to stand for are asked too, all over TLS, by one for the whole process")
    func namesAndTLS() async throws {
        try await withFolder { folder in
            let files = try await TestCertificate.make(in: folder)
            let certificate = try ServerCertificate.read(
                certificateFile: files.certificate.path, keyFile: files.key.path
            ).context
            let (one, two) = (RecordingUpstream(), RecordingUpstream())
            let port = try await one.start(port: freePort(), tls: certificate)
            _ = try await two.start(host: "127.0.0.2", port: port, tls: certificate)
            let addresses = Mutex(["127.0.0.1"])
            let log = CapturedLog()
            let authorities = try Upstream.Authorities.read(file: files.authority.path)
            let options = GatewayHarness.Options {
                $0.logger = log.logger
                $0.lookup = { _ in addresses.withLock { $0 } }
                $0.routes = { _ in
                    [("/name", "localhost"), ("/other", "orders.test")].map { path, host in
                        .secure(
                            path, host: host, port: port, authorities: authorities,
                            healthCheck: HealthCheck(
                                path: "/health", interval: .milliseconds(20), timeout: .seconds(30)))
                    }
                }
            }
            try await GatewayHarness.withGateway(options) { gateway in
                try await eventually("the first is asked again and again") { one.requests.count > 5 }
                #expect(one.requests.allSatisfy { Self.isCheck($0) && $0.field("Host") == "localhost:\(port)" })
                try await eventually("a certificate with another name is none") {
                    log.lines.contains { $0.contains("upstream is unhealthy") }
                }
                #expect(two.begun == 0)
                addresses.withLock { $0.append("127.0.0.2") }
                try await eventually("the second is asked") { two.requests.count > 5 }
                addresses.withLock { $0 = ["127.0.0.2"] }
                let asked = try await whenStill("the first is asked no more") { one.requests.count }
                #expect(one.requests.count == asked)
            }
            await one.stop()
            await two.stop()
        }
    }

    @Test("All event loops know the same of an address, until none sends requests there")
    func shared() throws {
        let checker = HealthChecker(logger: .quiet)
        var endpoint = UpstreamEndpoint(address: try SocketAddress(ipAddress: "127.0.0.1", port: 1))
        #expect(checker.enter(endpoint) == nil)
        endpoint.check = .init(health: HealthCheck(path: "/"), lines: "")
        let health = try #require(checker.enter(endpoint))
        #expect(checker.enter(endpoint) === health)
        checker.leave(endpoint)
        #expect(checker.enter(endpoint) === health)
        for _ in 0..<2 { checker.leave(endpoint) }
        #expect(checker.enter(endpoint) !== health)
    }

    @Test(
        "An answer is one that is there to its end",
        arguments: [
            ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", 200),
            ("HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 503 No\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 503),
            ("HTTP/1.1 204 No Content\r\n\r\n", 204), ("HTTP/1.1 101 Switching Protocols\r\n\r\n", nil),
            ("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok", nil), ("HTTP/1.1 200 OK\r\nContent-", nil),
            ("SSH-2.0-OpenSSH_9.2\r\n", nil), ("HTTP/1.1 200 OK\r\n\r\nto the end", 200),
            ("HTTP/1.1 200 OK\r\nContent-Length: 99999\r\n\r\n" + String(repeating: "x", count: 99_999), nil),
        ] as [(String, Int?)])
    func answers(_ text: String, _ expected: Int?) async throws {
        let upstream = RecordingUpstream { _ in [.bytes(text), .close] }
        let endpoint = UpstreamEndpoint(
            address: try SocketAddress(ipAddress: "127.0.0.1", port: try await upstream.start()))
        func ask(within limit: Duration) async throws -> Int {
            let answered = GatewayHarness.group.next().makePromise(of: Int.self)
            endpoint.send("GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", within: limit, answered)
            return try await answered.futureResult.get()
        }
        let status = try? await ask(within: .seconds(30))
        #expect(status == expected)
        // However much of it has come: what is not whole in time is none.
        upstream.behaviour.withLock {
            $0 = { _ in [.bytes("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok"), .pause] }
        }
        await #expect(throws: (any Error).self) { try await ask(within: .milliseconds(100)) }
        try await eventually("no connection is left") { upstream.open == 0 }
        await upstream.stop()
    }
}
