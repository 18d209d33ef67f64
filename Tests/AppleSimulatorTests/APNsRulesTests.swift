@testable import AppleSimulator
import Foundation
import Testing

/// A change to a valid request, and the resulting refusal.
struct RefusedPush: Sendable, CustomTestStringConvertible {
    var status: Int
    var reason: String
    var change: @Sendable (inout APNsPush) -> Void

    init(_ status: Int, _ reason: String, _ change: @escaping @Sendable (inout APNsPush) -> Void) {
        (self.status, self.reason, self.change) = (status, reason, change)
    }

    var testDescription: String { "\(status) \(reason)" }
}

/// The statuses and reasons that the tests of devices rely on.
@Suite struct APNsRulesTests {
    // MARK: - Pushes to devices

    private func refusal(
        topics: Set<String>? = nil, issuedTopic: String? = nil, _ change: (inout APNsPush) -> Void = { _ in }
    ) -> APNsAnswer? {
        var push = APNsPush()
        (push.method, push.path, push.topic) = ("POST", "/3/device/00aa11", "com.example.app")
        push.body = Array(#"{"aps":{}}"#.utf8)
        change(&push)
        return push.refusal(issuedTopic: { _ in issuedTopic }) { authenticate($0, topics: topics) }
    }

    @Test(
        "A push breaks one rule: the status and the reason are Apple's",
        arguments: [
            RefusedPush(404, "BadPath") { $0.path = "/3/devices/00" },
            RefusedPush(405, "MethodNotAllowed") { $0.method = "GET" },
            RefusedPush(400, "DuplicateHeaders") { $0.repeatedField = "apns-id" },
            RefusedPush(400, "MissingTopic") { $0.topic = nil },
            RefusedPush(400, "MissingDeviceToken") { $0.path = "/3/device/" },
            RefusedPush(400, "BadDeviceToken") { $0.path = "/3/device/xyz0" },
            RefusedPush(400, "BadDeviceToken") { $0.path = "/3/device/000" },
            RefusedPush(403, "InvalidProviderToken") { $0.authorization = "invalid" },
            RefusedPush(400, "BadTopic") { $0.topic = "<com.example.app>" },
            RefusedPush(400, "InvalidPushType") { $0.type = "silent" },
            RefusedPush(400, "InvalidPushType") { $0.type = "voip" },
            RefusedPush(400, "InvalidPushType") { ($0.type, $0.topic) = ("alert", "com.example.app.voip") },
            RefusedPush(400, "BadMessageId") { $0.identifier = "1" },
            RefusedPush(400, "BadExpirationDate") { $0.expiration = "tomorrow" },
            RefusedPush(400, "BadPriority") { $0.priority = "7" },
            RefusedPush(400, "BadPriority") { $0.type = "background" },
            RefusedPush(400, "BadCollapseId") { $0.collapseIdentifier = String(repeating: "é", count: 33) },
            RefusedPush(400, "PayloadEmpty") { $0.body = Array("hello".utf8) },
            RefusedPush(413, "PayloadTooLarge") { $0.body = payload(4_097) },
            RefusedPush(413, "PayloadTooLarge") {
                ($0.type, $0.topic, $0.body) = ("voip", "com.example.app.voip", payload(5_121))
            },
        ])
    func pushRefusals(_ expected: RefusedPush) {
        #expect(refusal(expected.change) == .refused(expected.status, expected.reason))
    }

    @Test(
        "A push type with its topic, priority and largest payload: it is accepted",
        arguments: [
            ("alert", "", "1"), ("background", "", "5"), ("controls", ".push-type.controls", "5"),
            ("location", ".location-query", "10"), ("voip", ".voip", "10"), ("complication", ".complication", "5"),
            ("fileprovider", ".pushkit.fileprovider", "5"), ("mdm", ".anything", "10"),
            ("liveactivity", ".push-type.liveactivity", "5"), ("pushtotalk", ".voip-ptt", "10"),
            ("widgets", ".push-type.widgets", "5"),
        ])
    func pushTypes(_ type: String, _ suffix: String, _ priority: String) {
        let refusal = refusal {
            ($0.type, $0.topic, $0.priority) = (type, "com.example.app" + suffix, priority)
            ($0.identifier, $0.expiration) = ("123e4567-e89b-12d3-a456-426655440000", "0")
            $0.collapseIdentifier = String(repeating: "x", count: 64)
            $0.body = payload(type == "voip" ? 5_120 : 4_096)
        }
        #expect(refusal == nil)
    }

    @Test("A topic that the key or the device token is not for: the push is refused")
    func topics() {
        #expect(refusal(topics: ["com.example.other"]) == .refused(400, "TopicDisallowed"))
        #expect(refusal(topics: ["com.example.app"]) { $0.topic? += ".voip" } == nil)
        #expect(refusal(issuedTopic: "com.example.app.voip") == .refused(400, "DeviceTokenNotForTopic"))
        #expect(refusal(issuedTopic: "com.example.app") == nil)
    }

    // MARK: - Broadcasts

    private func broadcastRefusal(
        policy: APNsChannels.StoragePolicy? = .noMessage, topics: Set<String>? = nil,
        _ change: (inout APNsPush) -> Void = { _ in }
    ) -> APNsAnswer? {
        var push = APNsPush()
        (push.method, push.channelIdentifier, push.body) = ("POST", "dHN0LXNyY2gtY2hubA==", payload(5_120))
        (push.type, push.priority, push.expiration) = ("liveactivity", "10", "0")
        change(&push)
        return push.broadcastRefusal(policy: policy, app: "com.example.app") { authenticate($0, topics: topics) }
    }

    @Test(
        "A broadcast breaks one rule: the status and the reason are Apple's",
        arguments: [
            RefusedPush(405, "MethodNotAllowed") { $0.method = "GET" },
            RefusedPush(400, "DuplicateHeaders") { $0.repeatedField = "x" },
            RefusedPush(400, "MissingChannelId") { $0.channelIdentifier = nil },
            RefusedPush(400, "BadChannelId") { $0.channelIdentifier = "not Base64" },
            RefusedPush(403, "InvalidProviderToken") { $0.authorization = "invalid" },
            RefusedPush(400, "BadMessageId") { $0.requestIdentifier = "1" },
            RefusedPush(400, "MissingPushType") { $0.type = nil },
            RefusedPush(400, "InvalidPushType") { $0.type = "alert" },
            RefusedPush(400, "BadExpirationDate") { $0.expiration = nil },
            RefusedPush(400, "BadExpirationDate") { $0.expiration = "1800000000" },
            RefusedPush(400, "BadPriority") { $0.priority = nil },
            RefusedPush(400, "PayloadEmpty") { $0.body = [] },
            RefusedPush(413, "PayloadTooLarge") { $0.body = payload(5_121) },
        ])
    func broadcastRefusals(_ expected: RefusedPush) {
        #expect(broadcastRefusal(expected.change) == .refused(expected.status, expected.reason))
    }

    @Test("A broadcast to the channel of an app: its policy and the key's topics decide")
    func broadcastChannels() {
        #expect(broadcastRefusal() == nil)
        #expect(broadcastRefusal(policy: .mostRecentMessage) { $0.expiration = "1800000000" } == nil)
        #expect(broadcastRefusal(policy: nil) == .refused(400, "ChannelNotRegistered"))
        #expect(broadcastRefusal(topics: ["com.example.other"]) == .refused(400, "TopicDisallowed"))
    }
}

private func authenticate(
    _ authorization: String?, topics: Set<String>?
) -> Result<ProviderToken, APNsAnswer.Refusal> {
    authorization == nil
        ? .success(ProviderToken(team: "T", keyIdentifier: "K", issuedAt: 0, topics: topics))
        : .failure(APNsAnswer.Refusal(answer: .refused(403, "InvalidProviderToken")))
}

private func payload(_ count: Int) -> [UInt8] {
    Array("{".utf8) + [UInt8](repeating: UInt8(ascii: " "), count: count - 2) + Array("}".utf8)
}
