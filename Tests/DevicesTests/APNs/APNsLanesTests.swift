import Contracts
import Foundation
import Instruments
import Logging
import MetricsTestKit
import NIOCore
import NIOHPACK
import NIOHTTP2
import NIOPosix
import NIOSSL
import Synchronization
import TestKit
import Testing

@testable import DevicesService

/// The client against a server of HTTP/2 over real sockets.
@Suite struct APNsLanesTests {
    private static let accept: TestAPNs.Script = { _ in [.status(200)] }

    private static func send(_ count: Int, isProven: Bool = true, to lanes: APNsLanes) async -> [LaneOutcome] {
        await withTaskGroup(of: (Int, LaneOutcome).self) { group in
            for number in 0..<count {
                group.addTask { (number, await lanes.send(.numbered(number, isProven: isProven))) }
            }
            var outcomes = [LaneOutcome](repeating: .inDoubt, count: count)
            for await (number, outcome) in group { outcomes[number] = outcome }
            return outcomes
        }
    }

    // MARK: - Requests

    @Test("A push is a POST with Apple's fields, of which path and authorization are not indexed")
    func requestsHaveApplesFields() async throws {
        try await TestAPNs.withLanes(script: Self.accept) { lanes, apns in
            let push = RenderedPush.test(topic: "com.example.app.voip", type: .voip, collapseID: "score")
            #expect(await lanes.send(push) == .accepted)
            #expect(await lanes.send(.test()) == .accepted)
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
        try await TestAPNs.withLanes(script: script) { lanes, apns in
            #expect(await lanes.send(.numbered(0)) == .accepted)
            async let gone = lanes.send(.numbered(1))
            async let busy = lanes.send(.numbered(2))
            async let accepted = lanes.send(.numbered(3))
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
        try await TestAPNs.withLanes(options, limits: limits, script: { _ in [] }) { lanes, apns in
            async let outcomes = Self.send(30, to: lanes)
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
        try await TestAPNs.withLanes(options, script: script) { lanes, apns in
            async let outcomes = Self.send(20, to: lanes)
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
        try await TestAPNs.withLanes(script: Self.accept) { lanes, apns in
            for number in 0..<3 { #expect(await lanes.send(.numbered(number)) == .accepted) }
            for number in 3..<6 {
                #expect(await lanes.send(.numbered(number, isProven: false, isUrgent: true)) == .accepted)
            }
            // The first urgent push does not wait for a connection.
            #expect(await lanes.send(.numbered(6, isUrgent: true)) == .accepted)
            try await eventually("an urgent connection") { apns.connections == 3 }
            try await eventually("an urgent push on it") {
                _ = await lanes.send(.numbered(7, isUrgent: true))
                return apns.requests.last?.connection == 2
            }
            #expect(apns.requests.prefix(6).map(\.connection) == [0, 0, 0, 1, 1, 1])
            #expect(await lanes.send(.numbered(8)) == .accepted)
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
        try await TestAPNs.withLanes(limits: limits, script: script) { lanes, apns in
            #expect(await lanes.send(.numbered(0)) == .accepted)
            var pushes: [Task<LaneOutcome, Never>] = []
            try await eventually("another connection is used") {
                pushes.append(Task { await lanes.send(.numbered(1)) })
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
        try await TestAPNs.withLanes(limits: limits, script: Self.accept) { lanes, apns in
            #expect(await lanes.send(.test()) == .accepted)
            try await eventually("PING, and another one") { apns.pings >= 2 }
            #expect(await lanes.send(.test()) == .accepted)
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
            let lanes = try APNsLanes(
                keys: [TestAPNs.key()], endpoints: TestAPNs.endpoints("http://127.0.0.1:\(port)"),
                limits: TestAPNs.limits, eventLoopGroup: MultiThreadedEventLoopGroup.singleton, logger: .quiet,
                metrics: nil, clock: { .now })
            let outcomes = await Self.send(200, to: lanes)
            #expect(outcomes.allSatisfy { $0 == .accepted }, "\(outcomes.first { $0 != .accepted } as Any)")
            await lanes.close()
        } finally: {
            await server.kill9()
        }
    }

    // MARK: - Faults

    @Test(
        "A push whose request gets no whole answer is in doubt at its deadline",
        arguments: [[], [.beginning], [.unendedHeaders], [.interim]] as [[TestAPNs.Reply]])
    func silentServers(replies: [TestAPNs.Reply]) async throws {
        var limits = TestAPNs.limits
        limits.sendTimeout = .seconds(2)
        try await TestAPNs.withLanes(limits: limits, script: { _ in replies }) { lanes, apns in
            #expect(await lanes.send(.test()) == .inDoubt)
            if case .unendedHeaders? = replies.first { return }
            try await eventually("RST_STREAM and PING") { apns.resets == [1] && apns.pings == 1 }
        }
    }

    @Test("A window that stays at 0 holds no push until it opens")
    func closedWindows() async throws {
        var options = TestAPNs.Options()
        options.settings = [HTTP2Setting(parameter: .initialWindowSize, value: 0)]
        var limits = TestAPNs.limits
        limits.sendTimeout = .seconds(2)
        limits.bodyTime = .milliseconds(100)
        let log = CapturedLog()
        var logger = log.logger
        logger.logLevel = .debug
        try await TestAPNs.withLanes(options, limits: limits, logger: logger, script: Self.accept) { lanes, apns in
            #expect(await lanes.send(.test()) == .notSent(.unreachable))
            try await eventually("RST_STREAM") { apns.resets.first == 1 }
            #expect(apns.requests.isEmpty)
        }
        #expect(!log.lines.joined().contains("the socket takes no bytes"))
    }

    /// 20 MB, which the socket's buffers do not take.
    @Test("A connection whose socket takes no bytes is closed")
    func blockedSockets() async throws {
        var options = TestAPNs.Options()
        options.settings = [
            HTTP2Setting(parameter: .maxConcurrentStreams, value: 1000),
            HTTP2Setting(parameter: .initialWindowSize, value: 1 << 20),
        ]
        options.receiveBuffer = 4096
        var limits = TestAPNs.limits
        limits.bodyTime = .seconds(5)
        limits.maximumConnections = 1
        let log = CapturedLog()
        var logger = log.logger
        logger.logLevel = .debug
        let last = String(repeating: "y", count: 100_000)
        let script: TestAPNs.Script = { Self.accept($0) + ($0.body == last ? [.stopReading] : []) }
        try await TestAPNs.withLanes(options, limits: limits, logger: logger, script: script) { lanes, apns in
            #expect(await lanes.send(.numbered(0)) == .accepted)
            let connection = try #require(apns.requests.first?.connection)
            apns.perform(.grow(window: 1 << 26), connection: connection)
            // It does not fit into the window of before.
            #expect(await lanes.send(.test(payload: last)) == .accepted)
            let payload = String(repeating: "x", count: 100_000)
            let outcomes = await withTaskGroup(of: LaneOutcome.self) { group in
                for _ in 0..<200 { group.addTask { await lanes.send(.test(payload: payload)) } }
                return await group.reduce(into: []) { $0.append($1) }
            }
            // What the kernel has not taken whole goes over another connection.
            #expect(outcomes.contains(.accepted))
            #expect(apns.connections > 1)
        }
        #expect(log.lines.joined().contains("the socket takes no bytes"))
    }

    @Test("A push is sent when its window grows")
    func growingWindows() async throws {
        var options = TestAPNs.Options()
        options.settings = [HTTP2Setting(parameter: .initialWindowSize, value: 0)]
        try await TestAPNs.withLanes(options, script: Self.accept) { lanes, apns in
            async let outcome = lanes.send(.test())
            try await eventually("the head of a request") { apns.mostStreams == 1 }
            for _ in 0..<10 { apns.perform(.grow(window: 1), stream: 1) }
            #expect(await outcome == .accepted)
            #expect(apns.requests.first?.body == #"{"aps":{}}"#)
        }
    }

    @Test("An answer before the end of the request counts, and frees the stream")
    func earlyAnswers() async throws {
        var options = TestAPNs.Options()
        options.settings = [
            HTTP2Setting(parameter: .initialWindowSize, value: 0),
            HTTP2Setting(parameter: .maxConcurrentStreams, value: 1),
        ]
        options.repliesAtHead = true
        let script: TestAPNs.Script = { _ in [.status(413, reason: "PayloadTooLarge")] }
        try await TestAPNs.withLanes(options, script: script) { lanes, apns in
            for _ in 0..<5 {
                #expect(
                    await lanes.send(.test()) == .answered(APNsAnswer(status: 413, reason: "PayloadTooLarge")))
            }
            try await eventually("RST_STREAM for each") { apns.resets == [1, 3, 5, 7, 9] }
        }
    }

    @Test("A lost connection leaves its pushes in doubt", arguments: [.close, .halfClose] as [TestAPNs.Reply])
    func lostConnections(reply: TestAPNs.Reply) async throws {
        let script: TestAPNs.Script = { request in
            request.token == "0001" ? [reply] : [.status(200)]
        }
        try await TestAPNs.withLanes(script: script) { lanes, apns in
            #expect(await lanes.send(.numbered(0)) == .accepted)
            #expect(await lanes.send(.numbered(1)) == .inDoubt)
            #expect(await lanes.send(.numbered(2)) == .accepted)
            #expect(apns.connections == 2)
        }
    }

    @Test("A connection whose server breaks the protocol is closed", arguments: [.hugeHeaders] as [TestAPNs.Reply])
    func brokenServers(reply: TestAPNs.Reply) async throws {
        let script: TestAPNs.Script = { request in
            request.token == "0000" ? [reply] : [.status(200)]
        }
        try await TestAPNs.withLanes(script: script) { lanes, apns in
            #expect(await lanes.send(.numbered(0)) == .inDoubt)
            try await eventually("another connection is used") { await lanes.send(.numbered(1)) == .accepted }
        }
    }

    @Test("A body that is too long is not read to its end")
    func hugeBodies() async throws {
        let script: TestAPNs.Script = { request in
            request.token == "0000" ? [.hugeBody] : [.status(200)]
        }
        var limits = TestAPNs.limits
        limits.maximumBody = 40_000
        try await TestAPNs.withLanes(limits: limits, script: script) { lanes, apns in
            #expect(await lanes.send(.numbered(0)) == .inDoubt)
            for number in 1..<10 { #expect(await lanes.send(.numbered(number)) == .accepted) }
            #expect(apns.resets == [1])
        }
    }

    @Test(
        "A reset stream is in doubt, but a refused one goes to a connection again",
        arguments: [
            .noError, .protocolError, .internalError, .flowControlError, .settingsTimeout, .streamClosed,
            .frameSizeError, .refusedStream, .cancel, .compressionError, .connectError, .enhanceYourCalm,
            .inadequateSecurity, .http11Required, HTTP2ErrorCode(networkCode: 0x1234),
        ] as [HTTP2ErrorCode])
    func resets(code: HTTP2ErrorCode) async throws {
        let isFirst = Mutex(true)
        let script: TestAPNs.Script = { request in
            guard request.token == "0001", isFirst.withLock({ exchange(&$0, with: false) }) else {
                return [.status(200)]
            }
            return [.reset(code)]
        }
        try await TestAPNs.withLanes(script: script) { lanes, apns in
            #expect(await lanes.send(.numbered(0)) == .accepted)
            #expect(await lanes.send(.numbered(1)) == (code == .refusedStream ? .accepted : .inDoubt))
            #expect(await lanes.send(.numbered(2)) == .accepted)
            #expect(apns.connections == 1)
        }
    }

    @Test("A push that every stream refuses is not sent")
    func refusedForever() async throws {
        try await TestAPNs.withLanes(script: { _ in [.reset(.refusedStream)] }) { lanes, apns in
            #expect(await lanes.send(.test()) == .notSent(.unreachable))
            #expect(apns.requests.count == 4)
        }
    }

    @Test("GOAWAY with each last stream: higher ones go elsewhere, lower ones wait for their answers", arguments: 0...5)
    func goAway(last: Int) async throws {
        // The first push verifies the token. Four more wait on streams 3 to 9.
        let script: TestAPNs.Script = { request in
            request.connection > 0 || request.stream == 1 ? [.status(200)] : []
        }
        try await TestAPNs.withLanes(script: script) { lanes, apns in
            #expect(await lanes.send(.numbered(0)) == .accepted)
            async let outcomes = Self.send(4, to: lanes)
            try await eventually("four requests wait") { apns.requests.count == 5 }
            let lastStream = 2 * last - 1
            apns.perform(.goAway(last: max(0, lastStream)))
            let above = (1...4).filter { 2 * $0 + 1 > lastStream }.count
            try await eventually("higher streams go elsewhere") { apns.requests.count == 5 + above }
            for stream in [3, 5, 7, 9] where stream <= lastStream { apns.perform(.status(200), stream: stream) }
            #expect(await outcomes == Array(repeating: .accepted, count: 4))
            #expect(await lanes.send(.numbered(9)) == .accepted)
            #expect(apns.requests.last?.connection == 1)
        }
    }

    // MARK: - Answers of the lane

    @Test("Many streams with an expired token renew it once")
    func expiredTokensTogether() async throws {
        let first = Mutex<String?>(nil)
        let script: TestAPNs.Script = { request in
            let token = request.field("authorization")
            return first.withLock { first in
                if let first { return token == first ? [] : [.status(200)] }
                first = token
                return [.status(200)]
            }
        }
        try await TestAPNs.withLanes(script: script) { lanes, apns in
            #expect(await lanes.send(.test()) == .accepted)
            async let outcomes = Self.send(20, to: lanes)
            try await eventually("twenty requests wait") { apns.requests.count == 21 }
            for number in 1...20 {
                apns.perform(.status(403, reason: "ExpiredProviderToken"), stream: 2 * number + 1)
            }
            #expect(await outcomes.allSatisfy { $0 == .accepted })
            #expect(apns.requests.count == 41)
            #expect(Set(apns.requests.map { $0.field("authorization") }).count == 2)
        }
    }

    @Test("An expired provider token is renewed, and the push repeated once")
    func expiredTokens() async throws {
        let used = Mutex<[String]>([])
        let script: TestAPNs.Script = { request in
            let tokens = used.withLock { used in
                used.append(request.field("authorization") ?? "")
                return used
            }
            return Set(tokens).count == 1 ? [.status(403, reason: "ExpiredProviderToken")] : [.status(200)]
        }
        try await TestAPNs.withLanes(script: script) { lanes, apns in
            #expect(await lanes.send(.test()) == .accepted)
            #expect(apns.requests.count == 2)
            #expect(apns.connections == 1)
            #expect(apns.requests[0].field("apns-id") == apns.requests[1].field("apns-id"))
        }
    }

    @Test("A lane whose new provider token is refused as expired stops")
    func expiredForever() async throws {
        try await TestAPNs.withLanes(script: { _ in [.status(403, reason: "ExpiredProviderToken")] }) { lanes, apns in
            #expect(
                await lanes.send(.test()) == .answered(APNsAnswer(status: 403, reason: "ExpiredProviderToken")))
            #expect(await lanes.send(.test()) == .notSent(.laneStopped))
            #expect(apns.requests.count == 2)
        }
    }

    @Test("Tokens are renewed after 50 minutes, on the same connection, and never within 20")
    func tokensAreRenewed() async throws {
        let clock = MovableDate()
        try await TestAPNs.withLanes(clock: clock, script: Self.accept) { lanes, apns in
            for minutes in [0.0, 49, 1, 19, 31] {
                clock.advance(minutes: minutes)
                #expect(await lanes.send(.test()) == .accepted)
            }
            let tokens = apns.requests.map { $0.field("authorization") ?? "" }
            #expect(tokens[0] == tokens[1])
            #expect(tokens[1] != tokens[2])
            #expect(tokens[2] == tokens[3])
            #expect(tokens[3] != tokens[4])
            #expect(apns.connections == 1)
        }
    }

    @Test(
        "A connection that APNs refuses is replaced, and the push repeated",
        arguments: [(403, "UnrelatedKeyIdInToken", 1), (400, "IdleTimeout", 1), (503, "Shutdown", 3)])
    func replacedConnections(status: Int, reason: String, repeats: Int) async throws {
        let script: TestAPNs.Script = { request in
            request.connection < repeats ? [.status(status, reason: reason)] : [.status(200)]
        }
        try await TestAPNs.withLanes(script: script) { lanes, apns in
            #expect(await lanes.send(.test()) == .accepted)
            #expect(apns.requests.map(\.connection) == Array(0...repeats))
        }
        try await TestAPNs.withLanes(script: { _ in [.status(status, reason: reason)] }) { lanes, apns in
            #expect(await lanes.send(.test()) == .answered(APNsAnswer(status: status, reason: reason)))
            #expect(apns.connections == repeats + 1)
        }
    }

    @Test("After TooManyProviderTokenUpdates the push is repeated with the connection's previous token")
    func refusedRenewals() async throws {
        let clock = MovableDate()
        let first = Mutex<String?>(nil)
        let script: TestAPNs.Script = { request in
            let token = request.field("authorization")
            let known = first.withLock { first in
                if first == nil { first = token }
                return first
            }
            return token == known || request.connection > 0
                ? [.status(200)] : [.status(429, reason: "TooManyProviderTokenUpdates")]
        }
        try await TestAPNs.withLanes(clock: clock, script: script) { lanes, apns in
            #expect(await lanes.send(.test()) == .accepted)
            clock.advance(minutes: 50)
            #expect(await lanes.send(.test()) == .accepted)
            #expect(await lanes.send(.test()) == .accepted)
            #expect(apns.requests.count == 4)
            // No other one is tried on this connection for 20 minutes. Before the first one expires, another connection
            // takes its place.
            clock.advance(minutes: 5)
            #expect(await lanes.send(.test()) == .accepted)
            #expect(apns.requests.count == 5 && apns.connections == 1)
            clock.advance(minutes: 6)
            #expect(await lanes.send(.test()) == .accepted)
            #expect(apns.requests.count == 6 && apns.connections == 2)
        }
    }

    @Test("A refused key stops its lane at once", arguments: APNsAnswerRules.stopping)
    func stoppedLanes(reason: String) async throws {
        let (metrics, log) = (TestMetrics(), CapturedLog())
        let script: TestAPNs.Script = { _ in [.status(403, reason: reason)] }
        try await TestAPNs.withLanes(logger: log.logger, metrics: metrics, script: script) { lanes, apns in
            let refused = LaneOutcome.answered(APNsAnswer(status: 403, reason: reason))
            #expect(await lanes.send(.test()) == refused)
            #expect(await lanes.send(.test()) == .notSent(.laneStopped))
            #expect(apns.requests.count == 1)
            let stopped = try metrics.expectMeter("devices_apns_lane_stopped", Self.dimensions(reason))
            #expect(stopped.lastValue == 1)
            // The other environment has a lane of its own.
            #expect(await lanes.send(.test(environment: .sandbox)) == refused)
        }
        let text = log.lines.joined()
        #expect(text.contains("lane to APNs stopped") && text.contains(reason))
        #expect(!text.contains("bearer") && !text.contains("abcd") && !text.contains("aps"))
    }

    @Test("A stopped lane tries one push after a time, and goes on if it is accepted")
    func stoppedLanesTryAgain() async throws {
        let metrics = TestMetrics()
        let isRepaired = Mutex(false)
        let script: TestAPNs.Script = { _ in
            isRepaired.withLock { $0 } ? [.status(200)] : [.status(403, reason: "InvalidProviderToken")]
        }
        var limits = TestAPNs.limits
        limits.retryAfterRefusal = .milliseconds(1)
        try await TestAPNs.withLanes(limits: limits, metrics: metrics, script: script) { lanes, apns in
            let refused = LaneOutcome.answered(APNsAnswer(status: 403, reason: "InvalidProviderToken"))
            for count in 1...3 {
                try await eventually("a push is tried") { await lanes.send(.test()) == refused }
                #expect(apns.requests.count == count)
                #expect(apns.connections == count)
            }
            isRepaired.withLock { $0 = true }
            try await eventually("a push is accepted") { await lanes.send(.test()) == .accepted }
            #expect(await lanes.send(.test()) == .accepted)
            #expect(throws: (any Error).self) {
                try metrics.expectMeter("devices_apns_lane_stopped", Self.dimensions("InvalidProviderToken"))
            }
        }
    }

    private static func dimensions(_ reason: String) -> [(String, String)] {
        [
            ("team", TestAPNs.team), ("key", TestAPNs.keyID), ("environment", "production"), ("use", "pushes"),
            ("reason", reason),
        ]
    }

    @Test("A reason in GOAWAY that concerns the key stops the lane, too")
    func goAwayWithReason() async throws {
        let script: TestAPNs.Script = { _ in
            [.goAway(last: 0, json: #"{"reason":"BadCertificateEnvironment"}"#)]
        }
        try await TestAPNs.withLanes(script: script) { lanes, apns in
            #expect(await lanes.send(.test()) == .notSent(.laneStopped))
            #expect(await lanes.send(.test()) == .notSent(.laneStopped))
        }
    }

    @Test("Many refused tokens stop the lane if Apple had accepted them before, and only then")
    func refusedDeviceTokens() async throws {
        let script: TestAPNs.Script = { request in
            (Int(request.token, radix: 16) ?? 0).isMultiple(of: 10)
                ? [.status(400, reason: "BadDeviceToken")] : [.status(200)]
        }
        var limits = TestAPNs.limits
        // NIO's codec is slow with many streams unless it is optimized.
        limits.maximumStreams = 8
        try await TestAPNs.withLanes(limits: limits, script: script) { lanes, _ in
            let unproven = await Self.send(1200, isProven: false, to: lanes)
            #expect(unproven.count { $0 == .accepted } == 1080)
            let proven = await Self.send(1200, to: lanes)
            #expect(proven.count { $0 == .accepted } >= 850)
            #expect(await lanes.send(.numbered(1)) == .notSent(.laneStopped))
            #expect(await lanes.send(.numbered(1, isProven: false)) == .notSent(.laneStopped))
        }
    }

    // MARK: - Limits

    @Test("Nothing is sent after its time, without a key, or beyond the lane's limits")
    func unsentPushes() async throws {
        let keys = [
            try TestAPNs.key("KEY0000001", topics: ["com.example.one"]),
            try TestAPNs.key("KEY0000002", topics: ["com.example.two"], environments: [.sandbox]),
        ]
        var limits = TestAPNs.limits
        limits.maximumWaiting = 2
        let metrics = TestMetrics()
        try await TestAPNs.withLanes(limits: limits, keys: keys, metrics: metrics, script: { _ in [] }) { lanes, apns in
            #expect(await lanes.send(.test(topic: "com.example.two")) == .notSent(.noKey))
            #expect(await lanes.send(.test(topic: "com.example.one.other")) == .notSent(.noKey))
            #expect(await lanes.send(.test(topic: "com.example.one", sendBefore: .now)) == .notSent(.tooLate))
            #expect(
                await lanes.send(
                    .test(topic: "com.example.one", environment: PushEnvironment(rawValue: "moon")))
                    == .notSent(.noKey))
            async let first = lanes.send(.test(topic: "com.example.one.voip", type: .voip))
            try await eventually("a request") { apns.requests.count == 1 }
            async let second = lanes.send(.test(topic: "com.example.one"))
            async let third = lanes.send(
                .test(topic: "com.example.one", sendBefore: .now + .milliseconds(300)))
            #expect(await third == .notSent(.tooLate))
            // One more may wait.
            let others = (0..<4).map { _ in Task { await lanes.send(.test(topic: "com.example.one")) } }
            let saturated = try metrics.expectCounter("devices_apns_not_sent_total", [("reason", "saturated")])
            try await eventually("the lane is full") { saturated.totalValue == 3 }
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
        try await TestAPNs.withLanes(keys: keys, script: Self.accept) { lanes, apns in
            #expect(await lanes.send(.test(topic: "com.example.two")) == .accepted)
            #expect(
                await lanes.send(.test(topic: "com.example.two.push-type.liveactivity", type: .liveactivity))
                    == .accepted)
            #expect(await lanes.send(.test(topic: "com.example.three")) == .accepted)
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
        let lanes = try APNsLanes(
            keys: [try TestAPNs.key()], endpoints: TestAPNs.endpoints(url), limits: limits,
            eventLoopGroup: MultiThreadedEventLoopGroup.singleton, logger: .quiet)
        #expect(await lanes.send(.test()) == .notSent(.unreachable))
        #expect(await lanes.send(.test()) == .notSent(.unreachable))
        await lanes.close()
        #expect(await lanes.send(.test()) == .notSent(.unreachable))
    }

    /// Any user can register an invented token.
    @Test("A server that closes the connection of unproven tokens keeps no other from connecting")
    func backoffOfRoles() async throws {
        var limits = TestAPNs.limits
        limits.backoff = (.seconds(3600), .seconds(3600))
        let script: TestAPNs.Script = { $0.connection == 0 ? [.close] : [.status(200)] }
        try await TestAPNs.withLanes(limits: limits, script: script) { lanes, apns in
            #expect(await lanes.send(.numbered(0, isProven: false)) == .inDoubt)
            #expect(await lanes.send(.numbered(1, isProven: false)) == .notSent(.unreachable))
            #expect(await lanes.send(.numbered(2)) == .accepted)
            #expect(await lanes.send(.numbered(3, isUrgent: true)) == .accepted)
            #expect(await lanes.send(.numbered(4, isProven: false)) == .notSent(.unreachable))
            #expect(apns.requests.map(\.connection).contains(1))
        }
    }

    @Test("A server that never sends its settings counts as unreachable")
    func silentConnects() async throws {
        var options = TestAPNs.Options()
        options.sendsSettings = false
        var limits = TestAPNs.limits
        limits.connectTimeout = .milliseconds(100)
        try await TestAPNs.withLanes(options, limits: limits, script: Self.accept) { lanes, _ in
            #expect(await lanes.send(.test()) == .notSent(.unreachable))
        }
    }

    @Test("Closing waits for the pushes in flight, and sends no others")
    func closing() async throws {
        try await TestAPNs.withLanes(script: { _ in [] }) { lanes, apns in
            async let sent = lanes.send(.numbered(0))
            try await eventually("a request") { apns.requests.count == 1 }
            async let waiting = lanes.send(.numbered(1))
            async let closed: Void = lanes.close()
            #expect(await waiting == .notSent(.unreachable))
            apns.perform(.status(200), stream: 1)
            #expect(await sent == .accepted)
            await closed
        }
    }

    @Test("The service ends by closing its connections")
    func running() async throws {
        try await TestAPNs.withLanes(script: Self.accept) { lanes, _ in
            let service = Task { try await lanes.run() }
            #expect(await lanes.send(.test()) == .accepted)
            service.cancel()
            try await service.value
            #expect(await lanes.send(.test()) == .notSent(.unreachable))
        }
    }

    @Test(
        "Only a short word counts as a reason",
        arguments: [
            (#"{"reason":"BadTopic"}"#, "BadTopic"), (#"{"reason":"Bad topic"}"#, nil), (#"{"reason":""}"#, nil),
            (#"{"reason":"\#(String(repeating: "a", count: 65))"}"#, nil), (#"{"reason":7}"#, nil), ("", nil),
            ("[]", nil), (#"{"reason":"BadTopic"#, nil),
        ] as [(String, String?)])
    func reasons(body: String, reason: String?) {
        let response = APNsConnection.Machine.Response(status: 400, body: Array(body.utf8))
        #expect(APNsRequest.answer(response) == APNsAnswer(status: 400, reason: reason))
        #expect(APNsRequest.reason(of: Array(body.utf8)) == reason)
    }

    @Test(
        "Only a time from 1970 to 9999 counts as one of Apple's, and its reason counts without it",
        arguments: [
            ("1600000000500", 1_600_000_000.5), ("0", 0), ("253402300799999", 253_402_300_799.999),
            ("253402300800000", nil), ("9e18", nil), ("1e308", nil), ("1e400", nil), ("-1", nil), ("\"1\"", nil),
            ("null", nil), ("[]", nil), ("true", nil),
        ] as [(String, Double?)])
    func times(text: String, seconds: Double?) {
        let body = Array(#"{"reason":"Unregistered","timestamp":\#(text)}"#.utf8)
        let answer = APNsRequest.answer(APNsConnection.Machine.Response(status: 410, body: body))
        #expect(
            answer
                == APNsAnswer(
                    status: 410, reason: "Unregistered", invalidSince: seconds.map(Date.init(timeIntervalSince1970:))))
    }

    @Test("The fields of a response's head are bounded")
    func heads() {
        func fields(_ status: String, _ retryAfter: String? = nil) -> (status: Int?, retryAfter: Int?) {
            var headers = HPACKHeaders([(":status", status)])
            if let retryAfter { headers.add(name: "retry-after", value: retryAfter) }
            let fields = APNsRequest.responseFields(headers)
            return (fields.status, fields.retryAfter)
        }
        for status in ["", "99", "+20", "-20", "2 0", "20", "1000", "099", "20x", "٢٠٠"] {
            #expect(fields(status).status == nil, "\(status)")
        }
        for status in ["100", "200", "999"] { #expect(fields(status).status == Int(status)) }
        for (text, seconds) in [
            ("0", 0), ("30", 30), ("86400", 86_400), ("86401", 86_400), ("999999999", 86_400),
            ("99999999999999999999999", 86_400), ("-1", nil), ("+1", nil), ("1.5", nil), ("", nil),
            ("Wed, 21 Oct 2026 07:28:00 GMT", nil),
        ] as [(String, Int?)] {
            #expect(fields("429", text).retryAfter == seconds, "\(text)")
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
        try await TestAPNs.run(options, script: Self.accept) { apns, port in
            let url = "https://localhost:\(port)"
            for authority in [certificate.authority.path, nil] {
                let lanes = try APNsLanes(
                    keys: [try TestAPNs.key()],
                    endpoints: TestAPNs.endpoints(url, trustRootsFile: authority),
                    eventLoopGroup: MultiThreadedEventLoopGroup.singleton, logger: .quiet)
                let outcome = await lanes.send(.test())
                #expect(
                    outcome == (isAccepted && authority != nil ? .accepted : .notSent(.unreachable)))
                await lanes.close()
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
        try await TestAPNs.withLanes(metrics: metrics, script: script) { lanes, _ in
            for number in 0..<4 { _ = await lanes.send(.numbered(number)) }
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
