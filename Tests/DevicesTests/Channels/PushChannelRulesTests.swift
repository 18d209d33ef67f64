import Foundation
import GatehouseServiceContracts
import Testing

@testable import DevicesService

@Suite struct PushChannelRulesTests {
    private static let now = Date(timeIntervalSince1970: 1_800_000_000)
    private static let day: TimeInterval = 86_400
    private let rules = DeliveryRules(unseen: UnseenRules(pauseDays: 60, retentionDays: 270))

    private static func channel(_ storage: PushChannelStorage? = .noMessage) -> PushChannel {
        PushChannel(
            id: UUID(), channelId: "dHN0LXNyY2gtY2hubA==", bundleId: "com.example.app", environment: .sandbox,
            storage: storage)
    }

    private static func payload(_ event: String) -> JSONValue {
        .object([
            "aps": .object([
                "event": .string(event), "timestamp": .integer(1_800_000_000), "content-state": .object([:]),
            ])
        ])
    }

    private func validate(
        storage: PushChannelStorage? = .noMessage, payload: [UInt8] = [], now: Date = now,
        _ change: (inout PushBroadcast) -> Void = { _ in }
    ) throws -> ValidPush {
        var broadcast = PushBroadcast(payload: Self.payload("update"))
        change(&broadcast)
        return try PushChannelRules.validate(broadcast, payload: payload, to: Self.channel(storage), now: now)
    }

    // MARK: - Broadcasts

    @Test func aBroadcastIsAPushToOneChannel() throws {
        let push = try validate { ($0.priority, $0.urgency, $0.onDoubt) = (.powerSaving, .urgent, .drop) }
        #expect(push.recipients.map(\.kind) == [.channel] && push.sendAt == nil && !push.isDryRun)
        #expect(push.recipients.first?.id == push.content.channel?.id)
        #expect(push.content.topic == "com.example.app.push-type.liveactivity")
        #expect(push.content.environment == .sandbox && push.content.priority == .powerSaving)
        #expect(push.content.urgency == .urgent && push.content.onDoubt == .drop)
        #expect(push.content.expiresAt == Self.now + Self.day)
        #expect(try validate().content.priority == .immediate)
    }

    @Test func appleKeepsNothingOnAChannelWithoutStorage() throws {
        let once = Date(timeIntervalSince1970: 0)
        #expect(try validate(storage: .noMessage).content.apnsExpiration == once)
        // 0 is valid on each channel.
        #expect(try validate(storage: nil).content.apnsExpiration == once)
        #expect(try validate(storage: .mostRecentMessage).content.apnsExpiration == Self.now + Self.day)
    }

    @Test func eachWrongFieldIsNamed() throws {
        let cases: [([String], (inout PushBroadcast) -> Void)] = [
            (["payload"], { $0.payload = Self.payload("start") }),
            (["payload", "payload"], { $0.payload = .object([:]) }),
            (["payload", "payload"], { $0.payload = .array([]) }),
            (["payload"], { $0.payload = .object(["aps": .object(["event": .string("end")])]) }),
            (["sendAt"], { $0.sendAt = Self.now + 31 * Self.day }),
            (["expiresAt"], { $0.expiresAt = Self.now }), (["expiresAt"], { $0.expiresAt = Self.now + 31 * Self.day }),
            (["expiresAt", "payload"], { ($0.expiresAt, $0.payload) = (Self.now - 1, Self.payload("start")) }),
        ]
        for (fields, change) in cases {
            let error = #expect(throws: InvalidPush.self) { try validate(change) }
            #expect(error?.fields.map(\.name) == fields)
        }
        _ = try validate { $0.payload = Self.payload("end") }
        _ = try validate(payload: Array(repeating: 0x20, count: 5120))
        #expect(throws: InvalidPush.self) { try validate(payload: Array(repeating: 0x20, count: 5121)) }
        let escaped = String(repeating: #"\u0416"#, count: 2000)
        let written = try validate(payload: Array(escaped.utf8)).content.payload
        #expect(String(decoding: written, as: UTF8.self) == String(repeating: "Ж", count: 2000))
    }

    @Test func aScheduledBroadcastExpiresADayAfterItIsDue() throws {
        let push = try validate { $0.sendAt = Self.now + 3600 }
        #expect(push.sendAt == Self.now + 3600 && push.content.expiresAt == Self.now + 3600 + Self.day)
        #expect(try validate { $0.sendAt = Self.now - 3600 }.sendAt == nil)
    }

    @Test func aChannelHasOneIdentifier() {
        let id = PushChannelRules.id(ofChannel: "YQ==", app: "com.example.app", in: .sandbox)
        #expect(id == PushChannelRules.id(ofChannel: "YQ==", app: "com.example.app", in: .sandbox))
        #expect(id != PushChannelRules.id(ofChannel: "YQ==", app: "com.example.app", in: .production))
        #expect(id != PushChannelRules.id(ofChannel: "YQ==", app: "com.example.ap", in: .sandbox))
        #expect(id != PushChannelRules.id(ofChannel: "Yg==", app: "com.example.app", in: .sandbox))
        #expect(id.uuid.6 >> 4 == 5 && id.uuid.8 >> 6 == 2)
    }

    @Test func anAppAndAnEnvironmentAreNeeded() throws {
        for (bundleID, environment, fields) in [
            ("a b", .sandbox, ["bundleId"]), ("com.example.app", PushEnvironment(rawValue: "moon"), ["environment"]),
            (nil, nil, ["bundleId", "environment"]),
        ] as [(String?, PushEnvironment?, [String])] {
            let error = #expect(throws: InvalidPush.self) {
                try PushChannelRules.validate(bundleID: bundleID, environment: environment)
            }
            #expect(error?.fields.map(\.name) == fields)
        }
        try PushChannelRules.validate(bundleID: "com.example.app", environment: .production)
    }

    // MARK: - Delivery

    private func decide(_ status: Int, _ reason: String? = nil, retryAfter: Int? = nil) throws -> DeliveryDecision {
        rules.decide(
            .answered(APNsAnswer(status: status, reason: reason, retryAfter: retryAfter)), attempts: 0,
            of: try validate().content, now: Self.now, random: 0)
    }

    @Test func answersToBroadcastsDecide() throws {
        #expect(try decide(200).state == .accepted)
        for reason in ["ChannelNotRegistered", "BadChannelId"] {
            #expect(
                try decide(400, reason)
                    == DeliveryDecision(
                        state: .rejected, reason: reason, isAttempt: true, registration: .removeChannel))
        }
        for (status, reason) in [
            (400, "BadExpirationDate"), (400, "BadPriority"), (400, "FeatureNotEnabled"), (400, "InvalidPushType"),
            (400, "MissingChannelId"), (400, "MissingPushType"), (403, "Forbidden"), (413, "PayloadTooLarge"),
        ] {
            #expect(
                try decide(status, reason)
                    == DeliveryDecision(state: .rejected, reason: reason, isAttempt: true))
        }
        #expect(
            try decide(429, "TooManyRequests", retryAfter: 30)
                == DeliveryDecision(
                    state: .retryAt, reason: "TooManyRequests", dueAt: Self.now + 30, isAttempt: true,
                    registration: .pauseChannel(until: Self.now + 30)))
        #expect(try decide(503, "ServiceUnavailable").dueAt == Self.now + 900)
        #expect(try decide(403, "InvalidProviderToken").dueAt == Self.now + 60)
    }

    private func decideBeforeSending(_ change: (inout PushContent) -> Void) throws -> DeliveryDecision? {
        var content = try validate().content
        change(&content)
        let target = PushTarget(bucket: Bucket(user: UUID()), push: UUID(), device: UUID())
        let claim = ClaimedTarget(
            target: target, user: UUID(), leaseEpoch: 1, attempts: 0, isTakeover: false, claimedAt: Self.now)
        return rules.decide(claim, of: content, isCancelled: false)
    }

    @Test func theChannelDecidesBeforeSending() throws {
        #expect(try decideBeforeSending { _ in } == nil)
        #expect(try decideBeforeSending { $0.channel?.pausedUntil = Self.now } == nil)
        #expect(
            try decideBeforeSending { $0.channel?.pausedUntil = Self.now + 9 }
                == DeliveryDecision(state: .queued, reason: "TooManyRequests", dueAt: Self.now + 9))
        #expect(
            try decideBeforeSending { $0.channel?.channelID = nil }
                == DeliveryDecision(state: .rejected, reason: "ChannelNotRegistered"))
        #expect(try decideBeforeSending { $0.expiresAt = Self.now }?.state == .expired)
    }

    // MARK: - Management

    private func answer(
        _ status: Int, _ reason: String? = nil, channelID: String? = nil, body: String = ""
    ) -> SendOutcome {
        .answered(APNsAnswer(status: status, reason: reason, channelID: channelID, body: Array(body.utf8)))
    }

    @Test func successesAreRead() throws {
        #expect(try PushChannelRules.created(answer(201, channelID: "YQ==")) == "YQ==")
        #expect(try PushChannelRules.listed(answer(200, body: #"{"channels":["YQ==","Yg=="]}"#)) == ["YQ==", "Yg=="])
        let configuration = #"{"message-storage-policy":1,"push-type":"LiveActivity"}"#
        #expect(try PushChannelRules.read(answer(200, body: configuration)) == .mostRecentMessage)
        #expect(try PushChannelRules.read(answer(400, "ChannelNotRegistered")) == nil)
        for gone in [answer(204), answer(200), answer(400, "ChannelNotRegistered"), answer(400, "BadChannelId")] {
            try PushChannelRules.deleted(gone)
        }
    }

    @Test func unreadableSuccessesAreProblems() {
        for outcome in [answer(201), answer(201, channelID: "a b"), answer(201, channelID: "")] {
            #expect(problem { try PushChannelRules.created(outcome) }?.code == .badGateway)
        }
        for body in ["", "{}", #"{"channels":["a b"]}"#] {
            #expect(problem { try PushChannelRules.listed(answer(200, body: body)) }?.code == .badGateway)
        }
        let unknown = #"{"message-storage-policy":7}"#
        #expect(problem { try PushChannelRules.read(answer(200, body: unknown)) }?.code == .badGateway)
    }

    @Test func failuresAreClearProblems() {
        for (outcome, code, retryAfter) in [
            (answer(400, "CannotCreateChannelConfig"), .invalidRequest, nil),
            (answer(400, "FeatureNotEnabled"), .invalidRequest, nil),
            (answer(400, "TopicDisallowed"), .unavailable, 60), (answer(403, "InvalidProviderToken"), .unavailable, 60),
            (.answered(APNsAnswer(status: 429, reason: "TooManyRequests", retryAfter: 7)), .rateLimited, 7),
            (answer(429, "TooManyRequests"), .rateLimited, 10), (answer(503, "Shutdown"), .unavailable, 60),
            (answer(500), .unavailable, 60), (answer(400, "BadMessageId"), .badGateway, nil),
            (.inDoubt, .timeout, nil), (.notSent(.noKey), .unavailable, 60),
            (.notSent(.connectionPoolStopped), .unavailable, 60), (.notSent(.unreachable), .unavailable, 5),
            (.notSent(.tooLate), .unavailable, 5), (.notSent(.saturated), .unavailable, 5),
        ] as [(SendOutcome, ErrorCode, Int?)] {
            let found = problem { try PushChannelRules.created(outcome) }
            #expect(found?.code == code && found?.retryAfter == retryAfter, "\(outcome)")
        }
        #expect(problem { try PushChannelRules.created(.inDoubt) }?.detail.contains("may exist") == true)
        #expect(problem { try PushChannelRules.deleted(.inDoubt) }?.detail.contains("Repeat") == true)
    }

    private func problem<Value>(_ body: () throws -> Value) -> Problem? {
        do {
            _ = try body()
            return nil
        } catch {
            return error as? Problem
        }
    }
}
