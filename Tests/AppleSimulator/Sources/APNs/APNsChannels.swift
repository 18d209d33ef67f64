import Foundation
import Synchronization

/// The broadcast channels of apps, of one environment.
final class APNsChannels: Sendable {
    /// What APNs keeps for devices that are offline: `message-storage-policy`.
    enum StoragePolicy: Int, Codable, Sendable {
        case noMessage = 0
        case mostRecentMessage = 1
    }

    /// "You can maintain up to 10,000 channels for your app in the development and production environment,
    /// respectively."
    static let maximumCount = 10_000

    private let file: APNsLogFile?
    private let apps = Mutex<[String: [String: StoragePolicy]]>([:])

    init(file: APNsLogFile? = nil) {
        self.file = file
    }

    /// Carries out a change that was read from the file.
    ///
    /// - Parameter policy: nil deletes the channel.
    func restore(_ channel: String, app: String, policy: StoragePolicy?) {
        apps.withLock { $0[app, default: [:]][channel] = policy }
    }

    func policy(of channel: String, app: String) -> StoragePolicy? {
        apps.withLock { $0[app]?[channel] }
    }

    /// Carries out a request that has no refusal.
    func perform(_ request: APNsPush, app: String) -> APNsAnswer {
        switch (request.method, request.channelIdentifier) {
        case ("POST", _): create(ChannelConfiguration(request.body)?.policy ?? .noMessage, app: app)
        case ("DELETE", let channel?): delete(channel, app: app)
        case ("GET", let channel?) where !request.isOfAllChannels: read(channel, app: app)
        default: .json(ChannelList(channels: apps.withLock { $0[app]?.keys.sorted() ?? [] }))
        }
    }

    private func create(_ policy: StoragePolicy, app: String) -> APNsAnswer {
        let channel = Data((0..<16).map { _ in UInt8.random(in: 0...255) }).base64EncodedString()
        let isCreated = apps.withLock { apps in
            guard apps[app, default: [:]].count < Self.maximumCount else { return false }
            file?.append(.channel(app: app, id: channel, policy: policy))
            apps[app, default: [:]][channel] = policy
            return true
        }
        guard isCreated else { return .refused(400, "CannotCreateChannelConfig") }
        var answer = APNsAnswer(status: 201)
        answer.channelID = channel
        return answer
    }

    private func read(_ channel: String, app: String) -> APNsAnswer {
        guard let policy = policy(of: channel, app: app) else { return .refused(400, "ChannelNotRegistered") }
        return .json(ChannelConfiguration(policy: policy))
    }

    private func delete(_ channel: String, app: String) -> APNsAnswer {
        let isDeleted = apps.withLock { apps in
            guard apps[app]?.removeValue(forKey: channel) != nil else { return false }
            file?.append(.channel(app: app, id: channel, policy: nil))
            return true
        }
        return isDeleted ? APNsAnswer(status: 204) : .refused(400, "ChannelNotRegistered")
    }
}

/// The body of a request that creates a channel, and of the answer to one that reads it.
private struct ChannelConfiguration: Codable {
    static let onlyPushType = "LiveActivity"

    var policy: APNsChannels.StoragePolicy
    var pushType: String? = Self.onlyPushType

    private enum CodingKeys: String, CodingKey {
        case policy = "message-storage-policy"
        case pushType = "push-type"
    }

    init(policy: APNsChannels.StoragePolicy) { self.policy = policy }

    init?(_ body: [UInt8]) {
        guard let configuration = try? JSONDecoder().decode(Self.self, from: Data(body)) else { return nil }
        self = configuration
    }
}

private struct ChannelList: Codable {
    var channels: [String]
}

extension APNsPush {
    private static let broadcastPrefix = "/4/broadcasts/apps/"
    private static let appsPrefix = "/1/apps/"
    private static let maximumBroadcastBytes = 5_120
    private static let maximumChannelBytes = 256

    /// The app of a broadcast.
    var broadcastApp: String? {
        guard path.hasPrefix(Self.broadcastPrefix) else { return nil }
        return Self.app(path.dropFirst(Self.broadcastPrefix.count))
    }

    /// The app of a request about channels.
    var channelsApp: String? {
        guard path.hasPrefix(Self.appsPrefix) else { return nil }
        let parts = path.dropFirst(Self.appsPrefix.count).split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2, parts[1] == "channels" || parts[1] == "all-channels" else { return nil }
        return Self.app(parts[0])
    }

    var isOfAllChannels: Bool { path.hasSuffix("/all-channels") }

    private static func app(_ text: Substring) -> String? {
        text.isEmpty || text.contains("/") ? nil : String(text)
    }

    /// The error of an invalid broadcast; nil if it is valid ("Sending broadcast push notification requests to APNs",
    /// "Handling error responses from Apple Push Notification service"). The order of the checks is the stand-in's own.
    ///
    /// - Parameter policy: that of the channel, nil if it is not registered.
    func broadcastRefusal(
        policy: APNsChannels.StoragePolicy?, app: String,
        authenticate: (String?) -> Result<ProviderToken, APNsAnswer.Refusal>
    ) -> APNsAnswer? {
        guard method == "POST" else { return .refused(405, "MethodNotAllowed") }
        if let refusal = commonRefusal(app: app, needsChannel: true, authenticate: authenticate) { return refusal }
        guard let type else { return .refused(400, "MissingPushType") }
        guard type == "liveactivity" else { return .refused(400, "InvalidPushType") }
        guard let expiration, let seconds = UInt32(expiration) else { return .refused(400, "BadExpirationDate") }
        guard ["1", "5", "10"].contains(priority) else { return .refused(400, "BadPriority") }
        guard let policy else { return .refused(400, "ChannelNotRegistered") }
        // With the policy "No Message Stored" only an expiration of 0 is allowed.
        guard policy == .mostRecentMessage || seconds == 0 else { return .refused(400, "BadExpirationDate") }
        return payloadRefusal(maximumBytes: Self.maximumBroadcastBytes)
    }

    /// The error of an invalid request about channels ("Sending channel management requests to APNs").
    func channelsRefusal(
        app: String, authenticate: (String?) -> Result<ProviderToken, APNsAnswer.Refusal>
    ) -> APNsAnswer? {
        guard method == "GET" || !isOfAllChannels && (method == "POST" || method == "DELETE") else {
            return .refused(405, "MethodNotAllowed")
        }
        let needsChannel = !isOfAllChannels && method != "POST"
        if let refusal = commonRefusal(app: app, needsChannel: needsChannel, authenticate: authenticate) {
            return refusal
        }
        guard method == "POST" else { return nil }
        // Apple documents no reason for a body that is unreadable.
        guard let configuration = ChannelConfiguration(body) else { return .refused(400, "PayloadEmpty") }
        guard let type = configuration.pushType else { return .refused(400, "MissingPushType") }
        return type == ChannelConfiguration.onlyPushType ? nil : .refused(400, "InvalidPushType")
    }

    private func commonRefusal(
        app: String, needsChannel: Bool, authenticate: (String?) -> Result<ProviderToken, APNsAnswer.Refusal>
    ) -> APNsAnswer? {
        guard repeatedField == nil else { return .refused(400, "DuplicateHeaders") }
        if needsChannel {
            guard let channelIdentifier else { return .refused(400, "MissingChannelId") }
            guard channelIdentifier.utf8.count <= Self.maximumChannelBytes,
                Data(base64Encoded: channelIdentifier)?.isEmpty == false
            else { return .refused(400, "BadChannelId") }
        }
        switch authenticate(authorization) {
        case .failure(let refusal): return refusal.answer
        case .success(let token):
            if let topics = token.topics, !topics.contains(app) { return .refused(400, "TopicDisallowed") }
        }
        if let requestIdentifier, !Self.isUUID(requestIdentifier) { return .refused(400, "BadMessageId") }
        return nil
    }
}

extension APNsAnswer {
    fileprivate static func json(_ value: some Encodable) -> APNsAnswer {
        var answer = APNsAnswer(status: 200)
        answer.json = (try? JSONEncoder().encode(value)).map(Array.init)
        return answer
    }
}
