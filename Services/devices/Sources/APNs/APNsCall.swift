import Foundation
import GatehouseServiceContracts

/// A request to APNs.
enum APNsCall: Sendable {
    case push(RenderedPush)
    case channels(ChannelRequest)

    var environment: PushEnvironment {
        switch self {
        case .push(let push): push.environment
        case .channels(let request): request.environment
        }
    }

    var bundleID: String {
        switch self {
        case .push(let push): push.bundleID
        case .channels(let request): request.bundleID
        }
    }

    var use: APNsConnectionPool.Use {
        switch self {
        case .push(let push): push.isBroadcast ? .broadcasts : .pushes
        case .channels: .channels
        }
    }

    var role: APNsConnection.Role {
        switch self {
        case .push(let push): push.isProven ? push.isUrgent ? .urgent : .shared : .unproven
        case .channels: .shared
        }
    }

    /// No stream is opened after this.
    var sendBefore: ContinuousClock.Instant {
        switch self {
        case .push(let push): push.sendBefore
        case .channels(let request): request.sendBefore
        }
    }

    /// Whether it goes to a device token that Apple has accepted before.
    var isToProvenDevice: Bool {
        guard case .push(let push) = self else { return false }
        return push.isProven && !push.isBroadcast
    }

    var isOfChannels: Bool {
        if case .channels = self { true } else { false }
    }

    var method: String {
        switch self {
        case .push: "POST"
        case .channels(let request): request.method
        }
    }

    var body: [UInt8] {
        switch self {
        case .push(let push): push.payload
        case .channels(let request): request.body
        }
    }
}

/// A request to create, list, read or delete channels. Apple, "Sending channel management requests to APNs".
struct ChannelRequest: Sendable {
    enum Operation: Sendable, Equatable {
        case create(PushChannelStorage)
        case list
        /// How the channel was created.
        case read(String)
        case delete(String)

        /// `apns-channel-id`
        var channelID: String? {
            switch self {
            case .create, .list: nil
            case .read(let channelID), .delete(let channelID): channelID
            }
        }
    }

    /// `apns-request-id`
    let id = UUID()
    let bundleID: String
    let environment: PushEnvironment
    let operation: Operation
    let sendBefore: ContinuousClock.Instant

    var method: String {
        switch operation {
        case .create: "POST"
        case .list, .read: "GET"
        case .delete: "DELETE"
        }
    }

    var path: String { "/1/apps/\(bundleID)/\(operation == .list ? "all-channels" : "channels")" }

    /// JSON; empty without a body.
    var body: [UInt8] {
        guard case .create(let storage) = operation else { return [] }
        return Array(#"{"message-storage-policy":\#(storage.policy),"push-type":"LiveActivity"}"#.utf8)
    }
}

extension PushChannelStorage {
    /// `message-storage-policy`
    var policy: Int {
        switch self {
        case .noMessage: 0
        case .mostRecentMessage: 1
        }
    }

    init?(policy: Int) {
        guard let storage = Self.allCases.first(where: { $0.policy == policy }) else { return nil }
        self = storage
    }
}

extension RenderedPush {
    var isBroadcast: Bool {
        if case .channel = destination { true } else { false }
    }

    /// That of ``topic``.
    var bundleID: String {
        let suffix = type.topicSuffix.utf8
        return topic.utf8.count > suffix.count && topic.utf8.suffix(suffix.count).elementsEqual(suffix)
            ? String(decoding: topic.utf8.dropLast(suffix.count), as: UTF8.self) : topic
    }
}
