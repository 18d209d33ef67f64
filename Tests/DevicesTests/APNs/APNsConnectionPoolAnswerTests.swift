import GatehouseServiceContracts
import MetricsTestKit
import Synchronization
import TestKit
import Testing

@testable import DevicesService

/// Answers that concern a connection, its provider token or its key.
@Suite struct APNsConnectionPoolAnswerTests {
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
        try await TestAPNs.withConnectionPools(script: script) { pools, apns in
            #expect(await pools.send(.test()) == .accepted)
            async let outcomes = TestAPNs.send(20, to: pools)
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
        try await TestAPNs.withConnectionPools(script: script) { pools, apns in
            #expect(await pools.send(.test()) == .accepted)
            #expect(apns.requests.count == 2)
            #expect(apns.connections == 1)
            #expect(apns.requests[0].field("apns-id") == apns.requests[1].field("apns-id"))
        }
    }

    @Test("A pool whose new provider token is refused as expired stops")
    func expiredForever() async throws {
        try await TestAPNs.withConnectionPools(script: { _ in [.status(403, reason: "ExpiredProviderToken")] }) {
            pools, apns in
            #expect(
                await pools.send(.test()) == .answered(APNsAnswer(status: 403, reason: "ExpiredProviderToken")))
            #expect(await pools.send(.test()) == .notSent(.connectionPoolStopped))
            #expect(apns.requests.count == 2)
        }
    }

    @Test("Tokens are renewed after 50 minutes, on the same connection, and never within 20")
    func tokensAreRenewed() async throws {
        let clock = MovableDate()
        try await TestAPNs.withConnectionPools(clock: clock, script: TestAPNs.accept) { pools, apns in
            for minutes in [0.0, 49, 1, 19, 31] {
                clock.advance(minutes: minutes)
                #expect(await pools.send(.test()) == .accepted)
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
        try await TestAPNs.withConnectionPools(script: script) { pools, apns in
            #expect(await pools.send(.test()) == .accepted)
            #expect(apns.requests.map(\.connection) == Array(0...repeats))
        }
        try await TestAPNs.withConnectionPools(script: { _ in [.status(status, reason: reason)] }) { pools, apns in
            #expect(await pools.send(.test()) == .answered(APNsAnswer(status: status, reason: reason)))
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
        try await TestAPNs.withConnectionPools(clock: clock, script: script) { pools, apns in
            #expect(await pools.send(.test()) == .accepted)
            clock.advance(minutes: 50)
            #expect(await pools.send(.test()) == .accepted)
            #expect(await pools.send(.test()) == .accepted)
            #expect(apns.requests.count == 4)
            // No other one is tried on this connection for 20 minutes. Before the first one expires, another connection
            // takes its place.
            clock.advance(minutes: 5)
            #expect(await pools.send(.test()) == .accepted)
            #expect(apns.requests.count == 5 && apns.connections == 1)
            clock.advance(minutes: 6)
            #expect(await pools.send(.test()) == .accepted)
            #expect(apns.requests.count == 6 && apns.connections == 2)
        }
    }

    @Test("A refused key stops its pool at once", arguments: APNsAnswerRules.stopping)
    func stoppedPools(reason: String) async throws {
        let (metrics, log) = (TestMetrics(), CapturedLog())
        let script: TestAPNs.Script = { _ in [.status(403, reason: reason)] }
        try await TestAPNs.withConnectionPools(logger: log.logger, metrics: metrics, script: script) { pools, apns in
            let refused = SendOutcome.answered(APNsAnswer(status: 403, reason: reason))
            #expect(await pools.send(.test()) == refused)
            #expect(await pools.send(.test()) == .notSent(.connectionPoolStopped))
            #expect(apns.requests.count == 1)
            let stopped = try metrics.expectMeter("devices_apns_lane_stopped", Self.dimensions(reason))
            #expect(stopped.lastValue == 1)
            // The other environment has a pool of its own.
            #expect(await pools.send(.test(environment: .sandbox)) == refused)
        }
        let text = log.lines.joined()
        #expect(text.contains("connection pool to APNs stopped") && text.contains(reason))
        #expect(!text.contains("bearer") && !text.contains("abcd") && !text.contains("aps"))
    }

    @Test("A stopped pool tries one push after a time, and goes on if it is accepted")
    func stoppedPoolsTryAgain() async throws {
        let metrics = TestMetrics()
        let isRepaired = Mutex(false)
        let script: TestAPNs.Script = { _ in
            isRepaired.withLock { $0 } ? [.status(200)] : [.status(403, reason: "InvalidProviderToken")]
        }
        var limits = TestAPNs.limits
        limits.retryAfterRefusal = .milliseconds(1)
        try await TestAPNs.withConnectionPools(limits: limits, metrics: metrics, script: script) { pools, apns in
            let refused = SendOutcome.answered(APNsAnswer(status: 403, reason: "InvalidProviderToken"))
            for count in 1...3 {
                try await eventually("a push is tried") { await pools.send(.test()) == refused }
                #expect(apns.requests.count == count)
                #expect(apns.connections == count)
            }
            isRepaired.withLock { $0 = true }
            try await eventually("a push is accepted") { await pools.send(.test()) == .accepted }
            #expect(await pools.send(.test()) == .accepted)
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

    @Test("A reason in GOAWAY that concerns the key stops the pool, too")
    func goAwayWithReason() async throws {
        let script: TestAPNs.Script = { _ in
            [.goAway(last: 0, json: #"{"reason":"BadCertificateEnvironment"}"#)]
        }
        try await TestAPNs.withConnectionPools(script: script) { pools, apns in
            #expect(await pools.send(.test()) == .notSent(.connectionPoolStopped))
            #expect(await pools.send(.test()) == .notSent(.connectionPoolStopped))
        }
    }

    @Test("Many refused tokens stop the pool if Apple had accepted them before, and only then")
    func refusedDeviceTokens() async throws {
        let script: TestAPNs.Script = { request in
            (Int(request.token, radix: 16) ?? 0).isMultiple(of: 10)
                ? [.status(400, reason: "BadDeviceToken")] : [.status(200)]
        }
        var limits = TestAPNs.limits
        // NIO's codec is slow with many streams unless it is optimized.
        limits.maximumStreams = 8
        try await TestAPNs.withConnectionPools(limits: limits, script: script) { pools, _ in
            let unproven = await TestAPNs.send(1200, isProven: false, to: pools)
            #expect(unproven.count { $0 == .accepted } == 1080)
            let proven = await TestAPNs.send(1200, to: pools)
            #expect(proven.count { $0 == .accepted } >= 850)
            #expect(await pools.send(.numbered(1)) == .notSent(.connectionPoolStopped))
            #expect(await pools.send(.numbered(1, isProven: false)) == .notSent(.connectionPoolStopped))
        }
    }
}
