import Foundation
import GatehouseServiceContracts
import MetricsTestKit
import NIOHPACK
import NIOHTTP2
import NIOPosix
import NIOSSL
import Synchronization
import TestKit
import Testing

@testable import DevicesService

/// The client against a server of HTTP/2 over real sockets.
@Suite struct APNsConnectionPoolsTests {
    // MARK: - Requests

    @Test("A push is a POST with Apple's fields, of which path and authorization are not indexed")
    func requestsHaveApplesFields() async throws {
        try await TestAPNs.withConnectionPools(script: TestAPNs.accept) { pools, apns in
            let push = RenderedPush.test(topic: "com.example.app.voip", type: .voip, collapseID: "score")
            #expect(await pools.send(push) == .accepted)
            #expect(await pools.send(.test()) == .accepted)
            let request = try #require(apns.requests.first)
            #expect(request.field(":method") == "POST")
            #expect(request.field(":scheme") == "http")
            #expect(request.field(":authority")?.hasPrefix("127.0.0.1:") == true)
            #expect(request.field(":path") == "/3/device/abcd")
            #expect(request.field("authorization")?.hasPrefix("bearer ey") == true)
            #expect(request.field("apns-topic") == "com.example.app.voip")
            #expect(request.field("apns-push-type") == "voip")
            #expect(request.field("apns-priority") == "10")
            #expect(request.field("apns-id") == push.id.uuidString.lowercased())
            #expect(request.field("apns-expiration") == "1800000000")
            #expect(request.field("apns-collapse-id") == "score")
            #expect(request.body == #"{"aps":{}}"#)
            for request in apns.requests {
                #expect(request.indexing(":path") == .nonIndexable)
                #expect(request.indexing("authorization") == .nonIndexable)
            }
            #expect(apns.requests.map { $0.indexing("apns-id") } == [.indexable, .nonIndexable])
            #expect(apns.requests[1].field("apns-collapse-id") == nil)
            #expect(apns.clientSettings.contains(HTTP2Setting(parameter: .enablePush, value: 0)))
            #expect(apns.connections == 1)
        }
    }

    @Test("Answers come with reason, time and pause, whatever their order")
    func answersComeInAnyOrder() async throws {
        let script: TestAPNs.Script = { request in
            request.token == "0000" ? [.status(200)] : []
        }
        try await TestAPNs.withConnectionPools(script: script) { pools, apns in
            #expect(await pools.send(.numbered(0)) == .accepted)
            async let gone = pools.send(.numbered(1))
            async let busy = pools.send(.numbered(2))
            async let accepted = pools.send(.numbered(3))
            try await eventually("three requests wait") { apns.requests.count == 4 }
            let stream = Dictionary(uniqueKeysWithValues: apns.requests.map { ($0.token, $0.stream) })
            apns.perform(.status(200), stream: try #require(stream["0003"]))
            #expect(await accepted == .accepted)
            apns.perform(.interim, stream: try #require(stream["0002"]))
            apns.perform(
                .status(429, reason: "TooManyRequests", retryAfter: "30"), stream: try #require(stream["0002"]))
            #expect(
                await busy == .answered(APNsAnswer(status: 429, reason: "TooManyRequests", retryAfter: 30)))
            apns.perform(
                .status(410, reason: "Unregistered", timestamp: 1_600_000_000_500),
                stream: try #require(stream["0001"]))
            let time = Date(timeIntervalSince1970: 1_600_000_000.5)
            #expect(
                await gone == .answered(APNsAnswer(status: 410, reason: "Unregistered", invalidSince: time)))
        }
    }

    // MARK: - Streams

    @Test("One stream is open until the token is accepted, then as many as the server allows")
    func streamsFollowTheServer() async throws {
        var options = TestAPNs.Options()
        options.settings = [HTTP2Setting(parameter: .maxConcurrentStreams, value: 8)]
        var limits = TestAPNs.limits
        limits.maximumConnections = 1
        try await TestAPNs.withConnectionPools(options, limits: limits, script: { _ in [] }) { pools, apns in
            async let outcomes = TestAPNs.send(30, to: pools)
            try await eventually("the first request") { apns.requests.count == 1 }
            apns.perform(.status(200), stream: 1)
            try await eventually("eight requests") { apns.requests.count == 9 }
            apns.perform(.maximumStreams(1))
            for number in 1..<9 { apns.perform(.status(200), stream: 2 * number + 1) }
            for number in 9..<30 {
                try await eventually("request \(number)") { apns.requests.count == number + 1 }
                apns.perform(.status(200), stream: 2 * number + 1)
            }
            #expect(await outcomes.allSatisfy { $0 == .accepted })
            #expect(apns.mostStreams == 8)
            #expect(apns.connections == 1)
        }
    }

    @Test("More connections are opened when all are full, up to the maximum")
    func connectionsGrow() async throws {
        var options = TestAPNs.Options()
        options.settings = [HTTP2Setting(parameter: .maxConcurrentStreams, value: 2)]
        // The first request of each connection is answered, the others wait.
        let script: TestAPNs.Script = { $0.stream == 1 ? [.status(200)] : [] }
        try await TestAPNs.withConnectionPools(options, script: script) { pools, apns in
            async let outcomes = TestAPNs.send(20, to: pools)
            try await eventually("three full connections") { apns.requests.count == 9 }
            let answered = Mutex(Set<String>())
            try await eventually("all answered") {
                for request in apns.requests where request.stream > 1 {
                    if answered.withLock({ $0.insert(request.token).inserted }) {
                        apns.perform(.status(200), stream: request.stream, connection: request.connection)
                    }
                }
                return apns.requests.count == 20 && answered.withLock { $0.count } == 17
            }
            #expect(await outcomes.allSatisfy { $0 == .accepted })
            #expect(apns.connections == 3)
            #expect(apns.mostStreams == 2)
        }
    }

    @Test("Unproven tokens and urgent pushes have connections of their own")
    func rolesAreApart() async throws {
        try await TestAPNs.withConnectionPools(script: TestAPNs.accept) { pools, apns in
            for number in 0..<3 { #expect(await pools.send(.numbered(number)) == .accepted) }
            for number in 3..<6 {
                #expect(await pools.send(.numbered(number, isProven: false, isUrgent: true)) == .accepted)
            }
            // The first urgent push does not wait for a connection.
            #expect(await pools.send(.numbered(6, isUrgent: true)) == .accepted)
            try await eventually("an urgent connection") { apns.connections == 3 }
            try await eventually("an urgent push on it") {
                _ = await pools.send(.numbered(7, isUrgent: true))
                return apns.requests.last?.connection == 2
            }
            #expect(apns.requests.prefix(6).map(\.connection) == [0, 0, 0, 1, 1, 1])
            #expect(await pools.send(.numbered(8)) == .accepted)
            #expect(apns.requests.last?.connection == 0)
        }
    }

    @Test("A connection that hangs gets no more pushes, and another one takes its place")
    func hangingConnectionsAreAvoided() async throws {
        let hangs = Mutex(true)
        let script: TestAPNs.Script = { request in
            hangs.withLock { $0 } && request.connection == 0 && request.stream > 1 ? [] : [.status(200)]
        }
        var limits = TestAPNs.limits
        limits.stallTime = .milliseconds(20)
        limits.hangTime = .milliseconds(20)
        limits.maximumConnections = 1
        try await TestAPNs.withConnectionPools(limits: limits, script: script) { pools, apns in
            #expect(await pools.send(.numbered(0)) == .accepted)
            var pushes: [Task<SendOutcome, Never>] = []
            try await eventually("another connection is used") {
                pushes.append(Task { await pools.send(.numbered(1)) })
                return apns.requests.contains { $0.connection == 1 }
            }
            hangs.withLock { $0 = false }
            for request in apns.requests where request.connection == 0 && request.stream > 1 {
                apns.perform(.status(200), stream: request.stream)
            }
            for push in pushes { #expect(await push.value == .accepted) }
        }
    }

    @Test("A connection without pushes is kept by PING")
    func idleConnections() async throws {
        var limits = TestAPNs.limits
        (limits.pingAfter, limits.pingTimeout) = (.milliseconds(20), .seconds(60))
        try await TestAPNs.withConnectionPools(limits: limits, script: TestAPNs.accept) { pools, apns in
            #expect(await pools.send(.test()) == .accepted)
            try await eventually("PING, and another one") { apns.pings >= 2 }
            #expect(await pools.send(.test()) == .accepted)
            #expect(apns.connections == 1)
        }
    }

    /// It answers 200, and sends the bodies back.
    @Test("nghttpd, a server that others maintain, takes the requests")
    func foreignServer() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "gatehouse-nghttpd-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let port = try freePort()
        let server = try TestProcess(
            "nghttpd", ["--no-tls", "--echo-upload", "--htdocs=\(folder.path())", "\(port)"],
            output: folder.appending(path: "log"))
        try await runFinally {
            try await eventually("nghttpd listens") { isListening(onPort: port) }
            let pools = try APNsConnectionPools(
                keys: [TestAPNs.key()], endpoints: TestAPNs.endpoints("http://127.0.0.1:\(port)"),
                limits: TestAPNs.limits, eventLoopGroup: MultiThreadedEventLoopGroup.singleton, logger: .quiet,
                metrics: nil, clock: { .now })
            let outcomes = await TestAPNs.send(200, to: pools)
            #expect(outcomes.allSatisfy { $0 == .accepted }, "\(outcomes.first { $0 != .accepted } as Any)")
            await pools.close()
        } finally: {
            await server.kill9()
        }
    }

    // MARK: - Limits

    @Test("Nothing is sent after its time, without a key, or beyond the pool's limits")
    func unsentPushes() async throws {
        let keys = [
            try TestAPNs.key("KEY0000001", topics: ["com.example.one"]),
            try TestAPNs.key("KEY0000002", topics: ["com.example.two"], environments: [.sandbox]),
        ]
        var limits = TestAPNs.limits
        limits.maximumWaiting = 2
        let metrics = TestMetrics()
        try await TestAPNs.withConnectionPools(limits: limits, keys: keys, metrics: metrics, script: { _ in [] }) {
            pools, apns in
            #expect(await pools.send(.test(topic: "com.example.two")) == .notSent(.noKey))
            #expect(await pools.send(.test(topic: "com.example.one.other")) == .notSent(.noKey))
            #expect(await pools.send(.test(topic: "com.example.one", sendBefore: .now)) == .notSent(.tooLate))
            #expect(
                await pools.send(
                    .test(topic: "com.example.one", environment: PushEnvironment(rawValue: "moon")))
                    == .notSent(.noKey))
            async let first = pools.send(.test(topic: "com.example.one.voip", type: .voip))
            try await eventually("a request") { apns.requests.count == 1 }
            async let second = pools.send(.test(topic: "com.example.one"))
            async let third = pools.send(
                .test(topic: "com.example.one", sendBefore: .now + .milliseconds(300)))
            #expect(await third == .notSent(.tooLate))
            // One more may wait.
            let others = (0..<4).map { _ in Task { await pools.send(.test(topic: "com.example.one")) } }
            let saturated = try metrics.expectCounter("devices_apns_not_sent_total", [("reason", "saturated")])
            try await eventually("the pool is full") { saturated.totalValue == 3 }
            for (number, stream) in [1, 3, 5].enumerated() {
                try await eventually("the next request") { apns.requests.count > number }
                apns.perform(.status(200), stream: stream)
            }
            #expect(await first == .accepted)
            #expect(await second == .accepted)
            var accepted = 0
            for other in others where await other.value == .accepted { accepted += 1 }
            #expect(accepted == 1)
        }
    }

    @Test("Pushes with different keys use different connections and tokens")
    func keysAreApart() async throws {
        let keys = [
            try TestAPNs.key("KEY0000001"), try TestAPNs.key("KEY0000002", topics: ["com.example.two"]),
        ]
        try await TestAPNs.withConnectionPools(keys: keys, script: TestAPNs.accept) { pools, apns in
            #expect(await pools.send(.test(topic: "com.example.two")) == .accepted)
            #expect(
                await pools.send(.test(topic: "com.example.two.push-type.liveactivity", type: .liveactivity))
                    == .accepted)
            #expect(await pools.send(.test(topic: "com.example.three")) == .accepted)
            #expect(apns.requests.map(\.connection) == [0, 0, 1])
            #expect(apns.requests[0].field("authorization") != apns.requests[2].field("authorization"))
        }
    }

    @Test("A server that cannot be reached fails pushes at once, and is tried again")
    func unreachableServers() async throws {
        let port = try freePort()
        let url = "http://127.0.0.1:\(port)"
        var limits = TestAPNs.limits
        limits.backoff = (.seconds(3600), .seconds(3600))
        let pools = try APNsConnectionPools(
            keys: [try TestAPNs.key()], endpoints: TestAPNs.endpoints(url), limits: limits,
            eventLoopGroup: MultiThreadedEventLoopGroup.singleton, logger: .quiet)
        #expect(await pools.send(.test()) == .notSent(.unreachable))
        #expect(await pools.send(.test()) == .notSent(.unreachable))
        await pools.close()
        #expect(await pools.send(.test()) == .notSent(.unreachable))
    }

    /// Any user can register an invented token.
    @Test("A server that closes the connection of unproven tokens keeps no other from connecting")
    func backoffOfRoles() async throws {
        var limits = TestAPNs.limits
        limits.backoff = (.seconds(3600), .seconds(3600))
        let script: TestAPNs.Script = { $0.connection == 0 ? [.close] : [.status(200)] }
        try await TestAPNs.withConnectionPools(limits: limits, script: script) { pools, apns in
            #expect(await pools.send(.numbered(0, isProven: false)) == .inDoubt)
            #expect(await pools.send(.numbered(1, isProven: false)) == .notSent(.unreachable))
            #expect(await pools.send(.numbered(2)) == .accepted)
            #expect(await pools.send(.numbered(3, isUrgent: true)) == .accepted)
            #expect(await pools.send(.numbered(4, isProven: false)) == .notSent(.unreachable))
            #expect(apns.requests.map(\.connection).contains(1))
        }
    }

    @Test("A server that never sends its settings counts as unreachable")
    func silentConnects() async throws {
        var options = TestAPNs.Options()
        options.sendsSettings = false
        var limits = TestAPNs.limits
        limits.connectTimeout = .milliseconds(100)
        try await TestAPNs.withConnectionPools(options, limits: limits, script: TestAPNs.accept) { pools, _ in
            #expect(await pools.send(.test()) == .notSent(.unreachable))
        }
    }

    @Test("Closing waits for the pushes in flight, and sends no others")
    func closing() async throws {
        try await TestAPNs.withConnectionPools(script: { _ in [] }) { pools, apns in
            async let sent = pools.send(.numbered(0))
            try await eventually("a request") { apns.requests.count == 1 }
            async let waiting = pools.send(.numbered(1))
            async let closed: Void = pools.close()
            #expect(await waiting == .notSent(.unreachable))
            apns.perform(.status(200), stream: 1)
            #expect(await sent == .accepted)
            await closed
        }
    }

    @Test("The service ends by closing its connections")
    func running() async throws {
        try await TestAPNs.withConnectionPools(script: TestAPNs.accept) { pools, _ in
            let service = Task { try await pools.run() }
            #expect(await pools.send(.test()) == .accepted)
            service.cancel()
            try await service.value
            #expect(await pools.send(.test()) == .notSent(.unreachable))
        }
    }

    // MARK: - TLS

    @Test(
        "Over TLS the server's name is verified, and HTTP/2 agreed",
        arguments: [
            ("DNS:localhost", "h2", true), ("DNS:api.push.apple.com", "h2", false), ("DNS:localhost", nil, false),
        ] as [(String, String?, Bool)])
    func tls(name: String, application: String?, isAccepted: Bool) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "apns-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let certificate = try await TestCertificate.make(in: folder, for: name)
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: try NIOSSLCertificate.fromPEMFile(certificate.certificate.path).map {
                .certificate($0)
            },
            privateKey: .privateKey(try NIOSSLPrivateKey(file: certificate.key.path, format: .pem)))
        configuration.applicationProtocols = application.map { [$0] } ?? []
        var options = TestAPNs.Options()
        options.tls = try NIOSSLContext(configuration: configuration)
        try await TestAPNs.run(options, script: TestAPNs.accept) { apns, port in
            let url = "https://localhost:\(port)"
            for authority in [certificate.authority.path, nil] {
                let pools = try APNsConnectionPools(
                    keys: [try TestAPNs.key()],
                    endpoints: TestAPNs.endpoints(url, trustRootsFile: authority),
                    eventLoopGroup: MultiThreadedEventLoopGroup.singleton, logger: .quiet)
                let outcome = await pools.send(.test())
                #expect(
                    outcome == (isAccepted && authority != nil ? .accepted : .notSent(.unreachable)))
                await pools.close()
            }
        }
    }

    // MARK: - Metrics

    @Test("Answers are counted by status and reason, and unknown reasons together")
    func metrics() async throws {
        let metrics = TestMetrics()
        let script: TestAPNs.Script = { request in
            switch request.token {
            case "0001": [.status(400, reason: "BadDeviceToken")]
            case "0002": [.status(418, reason: "Teapot")]
            default: [.status(200)]
            }
        }
        try await TestAPNs.withConnectionPools(metrics: metrics, script: script) { pools, _ in
            for number in 0..<4 { _ = await pools.send(.numbered(number)) }
            for (status, reason, count) in [
                ("200", "", 2), ("400", "BadDeviceToken", 1), ("other", "other", 1),
            ] as [(String, String, Int64)] {
                let counter = try metrics.expectCounter(
                    "devices_apns_answers_total", [("status", status), ("reason", reason)])
                #expect(counter.totalValue == count)
            }
            let timer = try metrics.expectTimer("devices_apns_request_seconds")
            #expect(timer.values.count == 4)
        }
    }
}
