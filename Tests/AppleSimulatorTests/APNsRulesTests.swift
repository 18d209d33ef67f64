import Bytes
import Crypto
import Foundation
import Testing

@testable import AppleSimulator

/// A team that signs provider tokens.
struct TestProvider: Sendable {
    let key = P256.Signing.PrivateKey()
    var team = "TEAM123456"
    var keyIdentifier = "KEY1234567"
    var topics: Set<String>?

    func authorization(issuedAt: Int, algorithm: String = "ES256") throws -> String {
        let input = [#"{"alg":"\#(algorithm)","kid":"\#(keyIdentifier)"}"#, #"{"iss":"\#(team)","iat":\#(issuedAt)}"#]
            .map { Base64URL.string($0.utf8) }.joined(separator: ".")
        let signature = try key.signature(for: Data(input.utf8)).rawRepresentation
        return "bearer \(input).\(Base64URL.string(signature))"
    }

    /// PEM.
    var publicKey: String { key.publicKey.pemRepresentation }

    /// The keys of APNs.
    func find(_ team: String, _ identifier: String) -> ProviderKey? {
        guard team == self.team, identifier == keyIdentifier else { return nil }
        return try? ProviderKey(pem: publicKey, topics: topics)
    }
}

/// A request, and what APNs says of it.
struct PushCase: Sendable, CustomTestStringConvertible {
    var status: Int
    var reason: String
    var change: @Sendable (inout APNsPush) -> Void

    init(_ status: Int, _ reason: String, _ change: @escaping @Sendable (inout APNsPush) -> Void) {
        (self.status, self.reason, self.change) = (status, reason, change)
    }

    var testDescription: String { "\(status) \(reason)" }
}

@Suite struct APNsRulesTests {
    private static let now = 1_800_000_000

    private func refusal(
        topics: Set<String>? = nil, issuedTopic: String? = nil, _ change: (inout APNsPush) -> Void
    ) -> APNsAnswer? {
        var push = APNsPush()
        (push.method, push.path, push.topic) = ("POST", "/3/device/00aa11", "com.example.app")
        push.body = Array(#"{"aps":{}}"#.utf8)
        change(&push)
        return push.refusal(issuedTopic: { _ in issuedTopic }) { field in
            field == nil
                ? .success(ProviderToken(team: "T", keyIdentifier: "K", issuedAt: 0, topics: topics))
                : .failure(APNsAnswer.Refusal(answer: .refused(403, "InvalidProviderToken")))
        }
    }

    @Test(arguments: [
        PushCase(404, "BadPath") { $0.path = "/3/devices/00" },
        PushCase(405, "MethodNotAllowed") { $0.method = "GET" },
        PushCase(400, "DuplicateHeaders") { $0.repeatedField = "apns-id" },
        PushCase(400, "MissingTopic") { $0.topic = nil },
        PushCase(400, "MissingTopic") { $0.topic = "" },
        PushCase(400, "MissingDeviceToken") { $0.path = "/3/device/" },
        PushCase(400, "BadDeviceToken") { $0.path = "/3/device/xyz0" },
        PushCase(400, "BadDeviceToken") { $0.path = "/3/device/000" },
        PushCase(400, "BadDeviceToken") { $0.path = "/3/device/00aa?x" },
        PushCase(403, "InvalidProviderToken") { $0.authorization = "bearer x" },
        PushCase(400, "BadTopic") { $0.topic = "<com.example.app>" },
        PushCase(400, "InvalidPushType") { $0.type = "silent" },
        PushCase(400, "InvalidPushType") { $0.type = "voip" },
        PushCase(400, "InvalidPushType") { $0.type = "liveactivity" },
        PushCase(400, "InvalidPushType") { ($0.type, $0.topic) = ("alert", "com.example.app.voip") },
        PushCase(400, "InvalidPushType") { ($0.type, $0.topic) = ("voip", "com.example.app.voip-ptt") },
        PushCase(400, "BadMessageId") { $0.identifier = "1" },
        PushCase(400, "BadMessageId") { $0.identifier = "123e4567-e89b-12d3-a456-42665544000g" },
        PushCase(400, "BadExpirationDate") { $0.expiration = "tomorrow" },
        PushCase(400, "BadExpirationDate") { $0.expiration = "-1" },
        PushCase(400, "BadPriority") { $0.priority = "7" },
        PushCase(400, "BadPriority") { $0.priority = "high" },
        PushCase(400, "BadPriority") { $0.type = "background" },
        PushCase(400, "BadPriority") { ($0.type, $0.priority) = ("background", "1") },
        PushCase(400, "BadPriority") {
            ($0.type, $0.topic, $0.priority) = ("location", "com.example.app.location-query", "1")
        },
        PushCase(400, "BadCollapseId") { $0.collapseIdentifier = String(repeating: "é", count: 33) },
        PushCase(400, "PayloadEmpty") { $0.body = [] },
        PushCase(400, "PayloadEmpty") { $0.body = Array("hello".utf8) },
        PushCase(413, "PayloadTooLarge") { $0.body = payload(4_097) },
        PushCase(413, "PayloadTooLarge") {
            ($0.type, $0.topic, $0.body) = ("voip", "com.example.app.voip", payload(5_121))
        },
    ])
    func refuses(_ wanted: PushCase) {
        #expect(refusal(wanted.change) == .refused(wanted.status, wanted.reason))
    }

    @Test(arguments: [
        ("alert", "", "10"), ("alert", "", "1"), ("background", "", "5"), ("controls", ".push-type.controls", "5"),
        ("location", ".location-query", "10"), ("voip", ".voip", "10"), ("complication", ".complication", "5"),
        ("fileprovider", ".pushkit.fileprovider", "5"), ("mdm", ".anything", "10"),
        ("liveactivity", ".push-type.liveactivity", "5"), ("pushtotalk", ".voip-ptt", "10"),
        ("widgets", ".push-type.widgets", "5"),
    ])
    func acceptsEachType(_ type: String, _ suffix: String, _ priority: String) {
        let refusal = refusal {
            ($0.type, $0.topic, $0.priority) = (type, "com.example.app" + suffix, priority)
            $0.identifier = "123e4567-e89b-12d3-a456-426655440000"
            $0.expiration = "0"
            $0.collapseIdentifier = String(repeating: "x", count: 64)
            $0.body = payload(type == "voip" ? 5_120 : 4_096)
        }
        #expect(refusal == nil)
    }

    @Test func topicsAreTheKeysAndTheTokens() {
        let other: Set = ["com.example.other"]
        #expect(refusal(topics: other) { _ in } == .refused(400, "TopicDisallowed"))
        #expect(refusal(topics: ["com.example.app"]) { $0.topic? += ".voip" } == nil)
        #expect(refusal(issuedTopic: "com.example.app.voip") { _ in } == .refused(400, "DeviceTokenNotForTopic"))
        #expect(refusal(issuedTopic: "com.example.app") { _ in } == nil)
    }

    @Test func aFieldOccursOnce() {
        let push = APNsPush(fields: [
            (name: ":path", value: "/3/device/00"), (name: "apns-id", value: "a"), (name: "apns-id", value: "b"),
        ])
        #expect(push.repeatedField == "apns-id" && push.deviceToken == "00")
    }
}

private func payload(_ count: Int) -> [UInt8] {
    Array("{".utf8) + [UInt8](repeating: UInt8(ascii: " "), count: count - 2) + Array("}".utf8)
}

@Suite struct ProviderTokenTests {
    private let now = 1_800_000_000
    private let provider = TestProvider()

    private func verify(
        _ field: String?, with machine: inout ProviderTokenMachine, from provider: TestProvider? = nil, at time: Int = 0
    ) -> String? {
        switch machine.verify(field, now: now + time, key: (provider ?? self.provider).find) {
        case .success: nil
        case .failure(let refusal): refusal.answer.body?.reason
        }
    }

    @Test func verifiesSignatureAndAge() throws {
        var machine = ProviderTokenMachine()
        let good = try provider.authorization(issuedAt: now)
        let refused: [(String?, String)] = [
            (nil, "MissingProviderToken"), ("", "MissingProviderToken"), ("Basic x", "MissingProviderToken"),
            ("bearer nonsense", "InvalidProviderToken"),
            (String(good.dropLast(4)), "InvalidProviderToken"),
            (try TestProvider().authorization(issuedAt: now), "InvalidProviderToken"),
            (try provider.authorization(issuedAt: now, algorithm: "HS256"), "InvalidProviderToken"),
            (try provider.authorization(issuedAt: now + 61), "InvalidProviderToken"),
            (try provider.authorization(issuedAt: now - 3_601), "ExpiredProviderToken"),
        ]
        for (field, reason) in refused {
            #expect(verify(field, with: &machine) == reason)
            #expect(!machine.isAuthenticated)
        }
        #expect(verify(good, with: &machine) == nil && machine.isAuthenticated)
        #expect(verify(good, with: &machine, at: 3_600) == nil)
        #expect(verify(good, with: &machine, at: 3_601) == "ExpiredProviderToken")
    }

    @Test func unknownKeysAreRefused() throws {
        var machine = ProviderTokenMachine()
        var other = provider
        other.keyIdentifier = "KEY7654321"
        #expect(verify(try other.authorization(issuedAt: now), with: &machine) == "InvalidProviderToken")
    }

    /// Before a test registers keys each one is accepted, under the rules of a connection all the same.
    @Test func unverifiedTokensFollowTheRulesToo() throws {
        var machine = ProviderTokenMachine()
        func verify(_ field: String, acceptsUnknownKeys: Bool = true) -> String? {
            let result = machine.verify(field, now: now) { _, _ in acceptsUnknownKeys ? .unverified : nil }
            if case .failure(let refusal) = result { return refusal.answer.body?.reason }
            return nil
        }
        let field = try TestProvider().authorization(issuedAt: now)
        #expect(verify(field) == nil && verify(field) == nil)
        #expect(verify(try TestProvider().authorization(issuedAt: now + 1)) == "TooManyProviderTokenUpdates")
        var other = TestProvider()
        other.keyIdentifier = "KEY7654321"
        #expect(verify(try other.authorization(issuedAt: now)) == "UnrelatedKeyIdInToken")
        #expect(verify(field, acceptsUnknownKeys: false) == "InvalidProviderToken", "once keys are registered")
    }

    @Test func renewalsAreLimited() throws {
        var machine = ProviderTokenMachine()
        let first = try provider.authorization(issuedAt: now)
        #expect(verify(first, with: &machine) == nil)
        let early = try provider.authorization(issuedAt: now + 1_199)
        #expect(verify(early, with: &machine, at: 1_199) == "TooManyProviderTokenUpdates")
        #expect(verify(first, with: &machine, at: 1_199) == nil, "the connection's token stays valid")
        let renewed = try provider.authorization(issuedAt: now + 1_200)
        #expect(verify(renewed, with: &machine, at: 1_200) == nil)
        #expect(verify(first, with: &machine, at: 1_200) == "TooManyProviderTokenUpdates")
        #expect(verify(renewed, with: &machine, at: 1_200) == nil)
    }

    @Test func aConnectionHasOneKey() throws {
        var machine = ProviderTokenMachine()
        #expect(verify(try provider.authorization(issuedAt: now), with: &machine) == nil)
        for (team, key) in [("TEAM654321", provider.keyIdentifier), (provider.team, "KEY7654321")] {
            var other = TestProvider()
            (other.team, other.keyIdentifier) = (team, key)
            let token = try other.authorization(issuedAt: now + 2_000)
            #expect(verify(token, with: &machine, from: other, at: 2_000) == "UnrelatedKeyIdInToken")
        }
    }
}

@Suite struct PlannedPushesTests {
    @Test func aPlanIsForATokenOrForAllOthers() {
        let answers = PlannedPushes<APNsAnswer>()
        #expect(answers.take(for: "aa") == nil)
        let gone = APNsAnswerRequest(token: "aa", status: 410, reason: "Unregistered", timestamp: 5)
        answers.set(gone.answer, for: gone.token, times: 2)
        answers.set(.refused(429, "TooManyRequests"), for: nil, times: nil)
        #expect(answers.take(for: "aa")?.body == APNsAnswer.Body(reason: "Unregistered", timestamp: 5))
        #expect(answers.take(for: "bb") == .refused(429, "TooManyRequests"))
        #expect(answers.take(for: "aa", where: { $0.status == 500 }) == nil)
        #expect(answers.take(for: "aa")?.status == 410)
        #expect(answers.take(for: "aa") == .refused(429, "TooManyRequests"))
        answers.remove(for: nil)
        #expect(answers.take(for: "bb") == nil)
    }
}

@Suite struct APNsPushLogTests {
    private func entry(_ id: String, token: String = "aa", _ payload: String = "{}") -> APNsPushLog.Entry {
        APNsPushLog.Entry(
            time: 60_000, connection: 1, token: token, topic: "com.example.app", id: id, payload: payload, status: 200)
    }

    @Test func countsDuplicatesAndForgetsTheOldest() {
        let log = APNsPushLog(maximumCount: 3)
        for id in ["b", "a", "a", "a"] { log.add(entry(id)) }
        let page = log.page(after: 0)
        #expect(page.pushes.map(\.number) == [2, 3, 4] && page.lost == 1 && page.next == 4)
        #expect(page.pushes.map(\.duplicates) == [0, 1, 2])
        log.withdraw(3)
        log.withdraw(1)
        #expect(log.page(after: 2, limit: 1).pushes.map(\.status) == [nil])
        #expect(log.page(after: 4).pushes.isEmpty && log.page(after: 4).next == 4)
        log.add(entry("b"))
        #expect(log.entries.last?.duplicates == 0, "the earlier one is forgotten")
    }

    @Test func thePhoneShowsWhatCame() {
        let log = APNsPushLog()
        var first = entry("1", #"{"aps":{"alert":{"title":"Old"},"badge":3}}"#)
        first.collapseId = "c"
        var second = entry("2", #"{"aps":{"alert":{"title":"<b>New","subtitle":"S","body":"B"}}}"#)
        second.collapseId = "c"
        var expired = entry("3", #"{"aps":{"alert":"Gone"}}"#)
        expired.expiration = 100
        var refused = entry("4", #"{"aps":{"alert":"No"}}"#)
        refused.status = 410
        let other = entry("5", token: "bb", #"{"aps":{"alert":{"loc-key":"KEY"}}}"#)
        for entry in [first, second, expired, refused, other] { log.add(entry) }

        let page = PhonePage(log.entries, token: nil, now: 100)
        #expect(page.phones.map(\.token) == ["bb", "aa"])
        #expect(page.phones[0].alerts.map(\.body) == ["KEY"])
        #expect(page.phones[1].alerts.map(\.title) == ["<b>New"] && page.phones[1].badges == ["com.example.app": 3])
        #expect(PhonePage(log.entries, token: "aa", now: 99).phones[0].alerts.map(\.body) == ["Gone", "B"])
        #expect(page.html.contains("&lt;b&gt;New") && !page.html.contains("<b>New"))
        #expect(page.html.contains(">0:01</time>"))
        #expect(PhonePage([], token: nil, now: 0).html.contains("No push"))
    }
}
