public import Foundation

/// What APNs keeps of a channel for devices that are offline. Apple, "Sending channel management requests to APNs".
public enum PushChannelStorage: String, Codable, Sendable, CaseIterable {
    /// Nothing. Apple allows more broadcasts than on other channels.
    case noMessage
    /// The last broadcast, until its expiration.
    case mostRecentMessage
}

/// `POST /internal/push/channels`
public struct PushChannelRequest: Codable, Sendable, Equatable {
    public var bundleId: String
    public var environment: PushEnvironment
    /// It cannot be changed later.
    public var storage: PushChannelStorage

    public init(bundleId: String, environment: PushEnvironment, storage: PushChannelStorage) {
        self.bundleId = bundleId
        self.environment = environment
        self.storage = storage
    }
}

/// A channel of an app, to which Live Activities subscribe.
public struct PushChannel: Codable, Sendable, Equatable {
    @LowercaseUUID public var id: UUID
    /// Apple's identifier, in Base64: for `Activity.request(pushType: .channel(…))` in an app, and for
    /// `input-push-channel` in the push that starts a Live Activity.
    public var channelId: String
    public var bundleId: String
    public var environment: PushEnvironment
    /// Absent until the first broadcast if Gatehouse learned of the channel from Apple's list: another program has
    /// created it, or Apple's answer to the creation was lost.
    public var storage: PushChannelStorage?

    public init(
        id: UUID, channelId: String, bundleId: String, environment: PushEnvironment, storage: PushChannelStorage?
    ) {
        self.id = id
        self.channelId = channelId
        self.bundleId = bundleId
        self.environment = environment
        self.storage = storage
    }
}

/// The answer to `GET /internal/push/channels`
public struct PushChannelList: Codable, Sendable, Equatable {
    public var channels: [PushChannel]
    /// Opaque. The caller sends it as `after` for the next page. Absent on the last page.
    public var next: String?

    public init(channels: [PushChannel], next: String?) {
        self.channels = channels
        self.next = next
    }
}

/// `POST /internal/push/channels/{id}/publish`: an update or the end of the Live Activities of a channel.
public struct PushBroadcast: Codable, Sendable, Equatable {
    /// Default 10.
    public var priority: PushPriority?
    /// When the broadcast is of no more use. Default: a day after it is due; at most 30 days after. Apple keeps it no
    /// longer, and on a channel that stores no message not at all.
    public var expiresAt: Date?
    /// When the broadcast is due: at most 30 days ahead. Default: at once.
    public var sendAt: Date?
    /// The notification, which is sent byte for byte.
    public var payload: JSONValue
    /// Default `repeat`.
    public var onDoubt: PushDoubt?
    /// Default `normal`.
    public var urgency: PushUrgency?

    public init(
        priority: PushPriority? = nil, expiresAt: Date? = nil, sendAt: Date? = nil, payload: JSONValue,
        onDoubt: PushDoubt? = nil, urgency: PushUrgency? = nil
    ) {
        self.priority = priority
        self.expiresAt = expiresAt
        self.sendAt = sendAt
        self.payload = payload
        self.onDoubt = onDoubt
        self.urgency = urgency
    }
}
