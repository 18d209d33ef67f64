import Foundation
import GatehouseServiceContracts

/// A push service, such as APNs. Takes a rendered push, and returns the outcome.
protocol PushService: Sendable {
    /// Sends one push. Does not throw: each failure is an outcome. Returns within some seconds of `sendBefore`.
    func send(_ push: RenderedPush) async -> SendOutcome

    /// How many pushes it can have in flight at the moment: at least one, which finds out.
    var maximumStreams: Int { get }
}

/// Where a push goes.
enum PushDestination: Sendable, Equatable {
    case device(PushToken)
    /// A broadcast channel, by Apple's identifier. Its Live Activities receive the push.
    case channel(String)
}

/// A push for one device or channel, ready to be sent.
struct RenderedPush: Sendable {
    /// UUIDv5 of push and device, so that a repetition has the same id (`apns-id`, of a broadcast `apns-request-id`).
    let id: UUID
    let destination: PushDestination
    let environment: PushEnvironment
    /// `apns-topic`, with the suffix of its push type.
    let topic: String
    /// `apns-push-type`
    let type: PushType
    /// `apns-priority`
    let priority: PushPriority
    let collapseID: String?
    /// `apns-expiration`. In 1970: Apple attempts the delivery once.
    let expiresAt: Date
    /// JSON.
    let payload: [UInt8]
    /// Apple has accepted the token before, or it is a broadcast. Any user can register an invented token, so others
    /// use a connection of their own.
    let isProven: Bool
    let isUrgent: Bool
    /// No stream is opened after this, because the sessions' state is known as of a moment before, and another replica
    /// may take over after the lease. Checked right before the stream opens.
    let sendBefore: ContinuousClock.Instant
}

/// The outcome of one push.
enum SendOutcome: Sendable, Equatable {
    /// APNs answered. ``DeliveryRules`` decides on it.
    case answered(APNsAnswer)
    /// APNs has not processed the request: it was not sent as a whole, or the server refused its stream.
    case notSent(NotSentReason)
    /// The request may have arrived, and no answer came (time-out, connection lost).
    case inDoubt
}

/// APNs' response to a push. Apple, "Handling notification responses from APNs" and "Handling error responses from
/// Apple Push Notification service" (of channels and broadcasts).
struct APNsAnswer: Sendable, Equatable {
    var status: Int
    /// Apple's reason, such as `BadDeviceToken`; nil for 200.
    var reason: String?
    /// Of a 410: since when the token is invalid (milliseconds since 1970 in the response).
    var invalidSince: Date?
    /// The `Retry-After` header, seconds.
    var retryAfter: Int?
    /// Of a channel's creation: the `apns-channel-id` header.
    var channelID: String?
    /// Of a request about channels.
    var body: [UInt8] = []
}

/// Why APNs has not processed a push. The raw values are stored, and label a metric.
enum NotSentReason: String, Sendable, CaseIterable {
    /// No key of the team is for this topic and environment.
    case noKey
    /// Apple refuses the key. An operator must act.
    case connectionPoolStopped = "laneStopped"
    case unreachable
    /// `sendBefore` passed.
    case tooLate
    /// Apple allows no more streams at the moment.
    case saturated
}

extension RenderedPush {
    /// `nil` if the key of the sealed token is missing.
    init?(
        _ claim: ClaimedTarget, of push: PushContent, protection: PushTokenProtection,
        sendBefore: ContinuousClock.Instant
    ) {
        let address: (destination: PushDestination, environment: PushEnvironment, isProven: Bool)
        if let channelID = push.channel?.channelID, let environment = push.environment {
            address = (.channel(channelID), environment, true)
        } else if let device = claim.device,
            let token = protection.open(device.sealedToken, hash: device.tokenHash)
        {
            address = (.device(token), device.environment, device.isProven)
        } else {
            return nil
        }
        self.init(
            id: PushRules.id(of: claim.target.push, on: claim.target.device), destination: address.destination,
            environment: address.environment, topic: push.topic, type: push.type, priority: push.priority,
            collapseID: push.collapseID, expiresAt: push.apnsExpiration,
            payload: push.payload(for: claim.device?.locale), isProven: address.isProven,
            isUrgent: push.urgency == .urgent, sendBefore: sendBefore)
    }
}
