import GatehouseServiceContracts
import Logging
import NIOHTTP2
import Synchronization
import TestKit
import Testing

@testable import DevicesService

/// Servers that are silent, break the protocol, or end connections.
@Suite struct APNsConnectionPoolFaultTests {
    @Test(
        "A push whose request gets no whole answer is in doubt at its deadline",
        arguments: [[], [.beginning], [.unendedHeaders], [.interim]] as [[TestAPNs.Reply]])
    func silentServers(replies: [TestAPNs.Reply]) async throws {
        var limits = TestAPNs.limits
        limits.sendTimeout = .seconds(2)
        try await TestAPNs.withConnectionPools(limits: limits, script: { _ in replies }) { pools, apns in
            #expect(await pools.send(.test()) == .inDoubt)
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
        try await TestAPNs.withConnectionPools(options, limits: limits, logger: logger, script: TestAPNs.accept) {
            pools, apns in
            #expect(await pools.send(.test()) == .notSent(.unreachable))
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
        let script: TestAPNs.Script = { TestAPNs.accept($0) + ($0.body == last ? [.stopReading] : []) }
        try await TestAPNs.withConnectionPools(options, limits: limits, logger: logger, script: script) { pools, apns in
            #expect(await pools.send(.numbered(0)) == .accepted)
            let connection = try #require(apns.requests.first?.connection)
            apns.perform(.grow(window: 1 << 26), connection: connection)
            // It does not fit into the window of before.
            #expect(await pools.send(.test(payload: last)) == .accepted)
            let payload = String(repeating: "x", count: 100_000)
            let outcomes = await withTaskGroup(of: SendOutcome.self) { group in
                for _ in 0..<200 { group.addTask { await pools.send(.test(payload: payload)) } }
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
        try await TestAPNs.withConnectionPools(options, script: TestAPNs.accept) { pools, apns in
            async let outcome = pools.send(.test())
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
        try await TestAPNs.withConnectionPools(options, script: script) { pools, apns in
            for _ in 0..<5 {
                #expect(
                    await pools.send(.test()) == .answered(APNsAnswer(status: 413, reason: "PayloadTooLarge")))
            }
            try await eventually("RST_STREAM for each") { apns.resets == [1, 3, 5, 7, 9] }
        }
    }

    @Test("A lost connection leaves its pushes in doubt", arguments: [.close, .halfClose] as [TestAPNs.Reply])
    func lostConnections(reply: TestAPNs.Reply) async throws {
        let script: TestAPNs.Script = { request in
            request.token == "0001" ? [reply] : [.status(200)]
        }
        try await TestAPNs.withConnectionPools(script: script) { pools, apns in
            #expect(await pools.send(.numbered(0)) == .accepted)
            #expect(await pools.send(.numbered(1)) == .inDoubt)
            #expect(await pools.send(.numbered(2)) == .accepted)
            #expect(apns.connections == 2)
        }
    }

    @Test("A connection whose server breaks the protocol is closed", arguments: [.hugeHeaders] as [TestAPNs.Reply])
    func brokenServers(reply: TestAPNs.Reply) async throws {
        let script: TestAPNs.Script = { request in
            request.token == "0000" ? [reply] : [.status(200)]
        }
        try await TestAPNs.withConnectionPools(script: script) { pools, apns in
            #expect(await pools.send(.numbered(0)) == .inDoubt)
            try await eventually("another connection is used") { await pools.send(.numbered(1)) == .accepted }
        }
    }

    @Test("A body that is too long is not read to its end")
    func hugeBodies() async throws {
        let script: TestAPNs.Script = { request in
            request.token == "0000" ? [.hugeBody] : [.status(200)]
        }
        var limits = TestAPNs.limits
        limits.maximumBody = 40_000
        try await TestAPNs.withConnectionPools(limits: limits, script: script) { pools, apns in
            #expect(await pools.send(.numbered(0)) == .inDoubt)
            for number in 1..<10 { #expect(await pools.send(.numbered(number)) == .accepted) }
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
        try await TestAPNs.withConnectionPools(script: script) { pools, apns in
            #expect(await pools.send(.numbered(0)) == .accepted)
            #expect(await pools.send(.numbered(1)) == (code == .refusedStream ? .accepted : .inDoubt))
            #expect(await pools.send(.numbered(2)) == .accepted)
            #expect(apns.connections == 1)
        }
    }

    @Test("A push that every stream refuses is not sent")
    func refusedForever() async throws {
        try await TestAPNs.withConnectionPools(script: { _ in [.reset(.refusedStream)] }) { pools, apns in
            #expect(await pools.send(.test()) == .notSent(.unreachable))
            #expect(apns.requests.count == 4)
        }
    }

    @Test("GOAWAY with each last stream: higher ones go elsewhere, lower ones wait for their answers", arguments: 0...5)
    func goAway(last: Int) async throws {
        // The first push verifies the token. Four more wait on streams 3 to 9.
        let script: TestAPNs.Script = { request in
            request.connection > 0 || request.stream == 1 ? [.status(200)] : []
        }
        try await TestAPNs.withConnectionPools(script: script) { pools, apns in
            #expect(await pools.send(.numbered(0)) == .accepted)
            async let outcomes = TestAPNs.send(4, to: pools)
            try await eventually("four requests wait") { apns.requests.count == 5 }
            let lastStream = 2 * last - 1
            apns.perform(.goAway(last: max(0, lastStream)))
            let above = (1...4).filter { 2 * $0 + 1 > lastStream }.count
            try await eventually("higher streams go elsewhere") { apns.requests.count == 5 + above }
            for stream in [3, 5, 7, 9] where stream <= lastStream { apns.perform(.status(200), stream: stream) }
            #expect(await outcomes == Array(repeating: .accepted, count: 4))
            #expect(await pools.send(.numbered(9)) == .accepted)
            #expect(apns.requests.last?.connection == 1)
        }
    }
}
