import Foundation

/// A request to APNs, and the rules that precede any response that a test has set.
struct APNsPush: Sendable {
    var method = ""
    var path = ""
    /// `authorization`.
    var authorization: String?
    /// `apns-topic`.
    var topic: String?
    /// `apns-push-type`.
    var type: String?
    /// `apns-id`.
    var identifier: String?
    /// `apns-expiration`.
    var expiration: String?
    /// `apns-priority`.
    var priority: String?
    /// `apns-collapse-id`.
    var collapseIdentifier: String?
    /// `apns-channel-id`, of broadcasts and requests about channels.
    var channelIdentifier: String?
    /// `apns-request-id`, of the same.
    var requestIdentifier: String?
    /// A field that occurs twice.
    var repeatedField: String?
    var body: [UInt8] = []

    static let pathPrefix = "/3/device/"

    init() {}

    /// - Parameter fields: by name in lower case, pseudo-header fields among them.
    init(fields: some Sequence<(name: String, value: String)>, body: [UInt8] = []) {
        for (name, value) in fields {
            switch name {
            case ":method": method = value
            case ":path": path = value
            case "authorization": Self.set(&authorization, value, name, &repeatedField)
            case "apns-topic": Self.set(&topic, value, name, &repeatedField)
            case "apns-push-type": Self.set(&type, value, name, &repeatedField)
            case "apns-id": Self.set(&identifier, value, name, &repeatedField)
            case "apns-expiration": Self.set(&expiration, value, name, &repeatedField)
            case "apns-priority": Self.set(&priority, value, name, &repeatedField)
            case "apns-collapse-id": Self.set(&collapseIdentifier, value, name, &repeatedField)
            case "apns-channel-id": Self.set(&channelIdentifier, value, name, &repeatedField)
            case "apns-request-id": Self.set(&requestIdentifier, value, name, &repeatedField)
            default: break
            }
        }
        self.body = body
    }

    private static func set(_ field: inout String?, _ value: String, _ name: String, _ repeated: inout String?) {
        if field != nil { repeated = name }
        field = value
    }

    /// What faults and answers of tests are planned for: the device token or the channel.
    var address: String? { deviceToken.map(String.init) ?? channelIdentifier }

    /// Empty if the path ends before it; nil if the path is another one.
    var deviceToken: Substring? {
        path.hasPrefix(Self.pathPrefix) ? path.dropFirst(Self.pathPrefix.count) : nil
    }
}

/// What Apple demands of a push type ("Sending notification requests to APNs", section "Know when to use push types").
struct PushTypeRule: Sendable {
    /// Follows the bundle identifier in the topic. Nil: the topic is not a bundle identifier.
    var suffix: String?
    /// Nil: every priority.
    var priorities: Set<Int>?
    /// Of the payload, bytes ("Generating a remote notification").
    var maximumBytes = 4_096

    /// "Use priority 5. Using priority 10 is an error" (background). "Set the priority to 10 … otherwise, use 5"
    /// (location; liveactivity in "Starting and updating Live Activities with ActivityKit push notifications").
    static let all: [String: PushTypeRule] = [
        "alert": PushTypeRule(suffix: ""),
        "background": PushTypeRule(suffix: "", priorities: [5]),
        "controls": PushTypeRule(suffix: ".push-type.controls"),
        "location": PushTypeRule(suffix: ".location-query", priorities: [5, 10]),
        "voip": PushTypeRule(suffix: ".voip", maximumBytes: 5_120),
        "complication": PushTypeRule(suffix: ".complication"),
        "fileprovider": PushTypeRule(suffix: ".pushkit.fileprovider"),
        "mdm": PushTypeRule(suffix: nil),
        "liveactivity": PushTypeRule(suffix: ".push-type.liveactivity", priorities: [5, 10]),
        "pushtotalk": PushTypeRule(suffix: ".voip-ptt"),
        "widgets": PushTypeRule(suffix: ".push-type.widgets"),
    ]

    private static let suffixes = all.values.compactMap(\.suffix).filter { !$0.isEmpty }

    /// The suffix of a topic, empty if it is a bundle identifier.
    static func suffix(of topic: String) -> String {
        suffixes.first { topic.hasSuffix($0) } ?? ""
    }
}

extension APNsPush {
    /// The error of an invalid request; nil if it is valid. Statuses and reasons are Apple's ("Handling notification
    /// responses from APNs"). Apple documents no order of its checks. This order is the stand-in's own.
    ///
    /// - Parameters:
    ///   - issuedTopic: the topic that the device token was declared for.
    ///   - authenticate: verifies the provider token of a request whose path and topic are there. The result has the
    ///     topics of the key, nil for every topic.
    func refusal(
        issuedTopic: (Substring) -> String? = { _ in nil },
        authenticate: (String?) -> Result<ProviderToken, APNsAnswer.Refusal>
    ) -> APNsAnswer? {
        guard let deviceToken else { return .refused(404, "BadPath") }
        guard method == "POST" else { return .refused(405, "MethodNotAllowed") }
        guard repeatedField == nil else { return .refused(400, "DuplicateHeaders") }
        guard let topic, !topic.isEmpty else { return .refused(400, "MissingTopic") }
        guard !deviceToken.isEmpty else { return .refused(400, "MissingDeviceToken") }
        guard Self.isDeviceToken(deviceToken) else { return .refused(400, "BadDeviceToken") }
        let providerToken: ProviderToken
        switch authenticate(authorization) {
        case .success(let accepted): providerToken = accepted
        case .failure(let refusal): return refusal.answer
        }
        guard Self.isTopic(topic) else { return .refused(400, "BadTopic") }
        let suffix = PushTypeRule.suffix(of: topic)
        if let topics = providerToken.topics, !topics.contains(String(topic.dropLast(suffix.count))) {
            return .refused(400, "TopicDisallowed")
        }
        if let issued = issuedTopic(deviceToken), issued != topic { return .refused(400, "DeviceTokenNotForTopic") }
        return fieldRefusal(suffix: suffix) ?? payloadRefusal(suffix: suffix)
    }

    private func fieldRefusal(suffix: String) -> APNsAnswer? {
        var rule: PushTypeRule?
        if let type {
            rule = PushTypeRule.all[type]
            guard let rule, rule.suffix == nil || rule.suffix == suffix else {
                return .refused(400, "InvalidPushType")
            }
        }
        if let identifier, !Self.isUUID(identifier) { return .refused(400, "BadMessageId") }
        if let expiration, UInt32(expiration) == nil { return .refused(400, "BadExpirationDate") }
        // "If you omit this header, APNs sets the notification priority to 10."
        guard let value = Int(priority ?? "10"), [1, 5, 10].contains(value), rule?.priorities?.contains(value) ?? true
        else { return .refused(400, "BadPriority") }
        if let collapseIdentifier, collapseIdentifier.utf8.count > 64 { return .refused(400, "BadCollapseId") }
        return nil
    }

    private func payloadRefusal(suffix: String) -> APNsAnswer? {
        let isVoIP = type == "voip" || type == nil && suffix == ".voip"
        return payloadRefusal(maximumBytes: PushTypeRule.all[isVoIP ? "voip" : "alert"]?.maximumBytes ?? 0)
    }

    /// A payload that is no JSON object counts as empty: Apple documents no reason for it.
    func payloadRefusal(maximumBytes: Int) -> APNsAnswer? {
        guard body.count <= maximumBytes else { return .refused(413, "PayloadTooLarge") }
        // JSON's white space is below `!`, as is nothing that begins or ends an object.
        guard body.first(where: { $0 > 0x20 }) == UInt8(ascii: "{"),
            body.last(where: { $0 > 0x20 }) == UInt8(ascii: "}")
        else { return .refused(400, "PayloadEmpty") }
        return nil
    }

    /// Hexadecimal, of any length within reason: "Don't make assumptions about the length of device tokens."
    private static func isDeviceToken(_ token: Substring) -> Bool {
        let count = token.utf8.count
        return count.isMultiple(of: 2) && count <= 512 && token.utf8.allSatisfy(isHexadecimal)
    }

    private static func isTopic(_ topic: String) -> Bool {
        topic.utf8.count <= 255
            && topic.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"):
                    true
                default: false
                }
            }
    }

    /// "A canonical UUID": 32 hexadecimal digits in five groups.
    static func isUUID(_ text: String) -> Bool {
        guard text.utf8.count == 36 else { return false }
        for (index, byte) in text.utf8.enumerated() {
            switch index {
            case 8, 13, 18, 23: guard byte == UInt8(ascii: "-") else { return false }
            default: guard isHexadecimal(byte) else { return false }
            }
        }
        return true
    }

    private static func isHexadecimal(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
            UInt8(ascii: "A")...UInt8(ascii: "F"):
            true
        default: false
        }
    }
}
