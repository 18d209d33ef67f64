import Foundation
import GatehouseServiceContracts

/// Where a push stands on one device. `PushTargetState` is its form for callers.
enum TargetState: String, Sendable, CaseIterable {
    case queued
    case claimed
    case accepted
    case rejected
    case retryAt
    case suppressed
    case expired
    case cancelled
    case dead
    case inDoubt

    /// Whether nothing more is sent. Only a replay leaves ``dead``.
    var isFinal: Bool {
        switch self {
        case .queued, .claimed, .retryAt: false
        case .accepted, .rejected, .suppressed, .expired, .cancelled, .dead, .inDoubt: true
        }
    }
}

/// The decision on a target that a replica holds.
struct DeliveryDecision: Sendable, Equatable {
    var state: TargetState
    var reason: String?
    /// When it is claimed again; `nil` in a final state.
    var dueAt: Date?
    /// Whether the request was sent, or may have been.
    var isAttempt = false
    var registration = RegistrationChange.none
}

/// The consequence of Apple's answer for the registration, or for the channel of a broadcast.
enum RegistrationChange: Sendable, Equatable {
    case none
    /// Apple has accepted the token.
    case accepted
    /// The token receives no push until it is registered again.
    ///
    /// - Parameter unlessSeenAfter: a later registration stays valid.
    case invalid(unlessSeenAfter: Date?)
    /// The device receives no push until then.
    case pause(until: Date)
    /// The channel receives no broadcast until then.
    case pauseChannel(until: Date)
    /// Apple no longer has the channel.
    case removeChannel
}

/// The rules of delivery: what happens before a push is sent, and after each outcome.
struct DeliveryRules: Sendable {
    /// Seconds after which a push is repeated that APNs could not take (500, 503).
    var retryDelay: TimeInterval = 900
    /// Days without a registration after which nothing is sent.
    var unseen: UnseenRules

    /// Sendings before one in doubt is not repeated any more: a link that loses each answer may have delivered them
    /// all.
    private static let maximumDoubts = 5
    /// The limit of exponential growth: 64 times the first delay.
    private static let maximumDoublings = 6
    private static let reasonsOfToken: Set<String> = ["BadDeviceToken", "DeviceTokenNotForTopic"]

    // MARK: - Before sending

    /// The decision on a claimed target that is not sent now; `nil` if it is to be sent.
    func decide(_ claim: ClaimedTarget, of push: PushContent, isCancelled: Bool) -> DeliveryDecision? {
        if isCancelled { return DeliveryDecision(state: .cancelled) }
        if claim.isTakeover, push.onDoubt == .drop { return DeliveryDecision(state: .inDoubt, reason: "noAnswer") }
        if push.expiresAt <= claim.claimedAt {
            // It was sent in vain, or could not be sent: its caller may replay it.
            let isDead = claim.attempts > 0 || claim.reason.flatMap(NotSentReason.init) != nil
            return DeliveryDecision(state: isDead ? .dead : .expired, reason: claim.reason)
        }
        if let channel = push.channel { return decide(channel, of: push, now: claim.claimedAt) }
        guard let device = claim.device else { return DeliveryDecision(state: .suppressed, reason: "sessionEnded") }
        if let reason = device.refusal { return DeliveryDecision(state: .rejected, reason: reason) }
        guard unseen.isReached(lastSeenAt: device.lastSeenAt, now: claim.claimedAt) else {
            return DeliveryDecision(state: .suppressed, reason: "unseen")
        }
        if let (until, reason) = push.timing.wait(in: device.timeZone, at: claim.claimedAt) {
            guard until < push.expiresAt else {
                return DeliveryDecision(state: .suppressed, reason: reason.rawValue)
            }
            return wait(.queued, until: until, reason: reason.rawValue, expiresAt: push.expiresAt)
        }
        if let until = device.pausedUntil, until > claim.claimedAt {
            return wait(.queued, until: until, reason: "TooManyRequests", expiresAt: push.expiresAt)
        }
        return nil
    }

    private func decide(_ channel: BroadcastChannel, of push: PushContent, now: Date) -> DeliveryDecision? {
        guard channel.channelID != nil else {
            return DeliveryDecision(state: .rejected, reason: "ChannelNotRegistered")
        }
        guard let until = channel.pausedUntil, until > now else { return nil }
        return wait(.queued, until: until, reason: "TooManyRequests", expiresAt: push.expiresAt)
    }

    /// Whether the session may have ended by its lifetime, which no revocation says. One that was used since goes on.
    func mustCheckSession(of claim: ClaimedTarget) -> Bool {
        claim.device.map { device in device.liveUntil.map { $0 <= claim.claimedAt } ?? true } ?? false
    }

    /// The decision on a target whose user has received as many pushes today as the push's cap.
    static let capped = DeliveryDecision(state: .suppressed, reason: "capped")

    /// The reason of a target whose outcome PostgreSQL refuses.
    static let notRecorded = "notRecorded"

    /// The decision on such a target. Nothing of Apple's answer is in it.
    static func unrecordable(isAttempt: Bool) -> DeliveryDecision {
        DeliveryDecision(state: .rejected, reason: notRecorded, isAttempt: isAttempt)
    }

    // MARK: - After sending

    /// The decision on an outcome. Apple, "Handling notification responses from APNs", and for broadcasts "Handling
    /// error responses from Apple Push Notification service".
    ///
    /// - Parameters:
    ///   - attempts: how often the push was sent to the device before.
    ///   - random: from 0 to 1, for jitter.
    func decide(
        _ outcome: SendOutcome, attempts: Int, of push: PushContent, now: Date, random: Double
    ) -> DeliveryDecision {
        switch outcome {
        case .answered(let answer):
            var decision = decide(answer, attempts: attempts, of: push, now: now, random: random)
            decision.isAttempt = true
            return decision
        case .inDoubt where push.onDoubt == .drop || attempts >= Self.maximumDoubts:
            return DeliveryDecision(state: .inDoubt, reason: "noAnswer", isAttempt: true)
        case .inDoubt:
            let delay = Self.backoff(from: 5, attempts: attempts, random: random)
            var decision = wait(.retryAt, until: now + delay, reason: "noAnswer", expiresAt: push.expiresAt)
            decision.isAttempt = true
            return decision
        case .notSent(let reason):
            let delay = Self.delay(after: reason) * (1 + random)
            return wait(.queued, until: now + delay, reason: reason.rawValue, expiresAt: push.expiresAt)
        }
    }

    private func decide(
        _ answer: APNsAnswer, attempts: Int, of push: PushContent, now: Date, random: Double
    ) -> DeliveryDecision {
        let reason = answer.reason ?? "status \(answer.status)"
        func retry(from delay: TimeInterval) -> DeliveryDecision {
            let delay = max(
                Self.backoff(from: delay, attempts: attempts, random: random), Double(answer.retryAfter ?? 0))
            return wait(.retryAt, until: now + delay, reason: reason, expiresAt: push.expiresAt)
        }
        switch answer.status {
        case 200:
            return DeliveryDecision(state: .accepted, registration: .accepted)
        case _ where APNsAnswerRules.concernsConnectionPool(reason):
            return retry(from: 60)
        case 410:
            return DeliveryDecision(
                state: .rejected, reason: reason, registration: .invalid(unlessSeenAfter: answer.invalidSince))
        case 400 where Self.reasonsOfToken.contains(reason):
            return DeliveryDecision(state: .rejected, reason: reason, registration: .invalid(unlessSeenAfter: nil))
        case 400 where push.channel != nil && PushChannelRules.isGone(reason):
            return DeliveryDecision(state: .rejected, reason: reason, registration: .removeChannel)
        case 429:
            var decision = retry(from: 10)
            if let until = decision.dueAt {
                decision.registration = push.channel == nil ? .pause(until: until) : .pauseChannel(until: until)
            }
            return decision
        case 503 where reason == APNsAnswerRules.shutdown:
            // Another connection may take it.
            return retry(from: 1)
        case 500...:
            return retry(from: retryDelay)
        default:
            return DeliveryDecision(state: .rejected, reason: reason)
        }
    }

    /// At the expiration it is claimed too, and then ends.
    private func wait(_ state: TargetState, until: Date, reason: String, expiresAt: Date) -> DeliveryDecision {
        DeliveryDecision(state: state, reason: reason, dueAt: min(until, expiresAt))
    }

    /// Seconds. Jitter only adds: APNs must not be asked again earlier.
    private static func backoff(from delay: TimeInterval, attempts: Int, random: Double) -> TimeInterval {
        delay * Double(1 << min(attempts, maximumDoublings)) * (1 + random / 4)
    }

    /// Seconds.
    static func delay(after reason: NotSentReason) -> TimeInterval {
        switch reason {
        case .tooLate, .saturated: 0.1
        case .unreachable: 2
        case .connectionPoolStopped: 10
        case .noKey: 60
        }
    }
}

/// A target that this replica holds, with the registration as of the claim.
struct ClaimedTarget: Sendable, Equatable {
    var target: PushTarget
    var user: UUID
    /// Only this epoch's holder may record an outcome.
    var leaseEpoch: Int64
    /// How often the push was sent to the device, or may have been.
    var attempts: Int
    /// The last reason for waiting.
    var reason: String?
    /// Another replica held it, and may have sent it.
    var isTakeover: Bool
    /// By PostgreSQL's clock.
    var claimedAt: Date
    /// `nil` when the registration is gone or void.
    var device: ClaimedDevice?
}

/// A push on one device.
struct PushTarget: Sendable, Hashable {
    var bucket: Bucket
    var push: UUID
    var device: UUID
}

/// A registration as of a claim. App and kind are those of the push, because a device keeps them.
struct ClaimedDevice: Sendable, Equatable {
    var tokenHash: Data
    /// Differs for each token and owner.
    var tokenEpoch: Int64
    var sealedToken: Data
    var environment: PushEnvironment
    /// Why Apple refuses the token; `nil` while it may be sent to.
    var refusal: String?
    var lastSeenAt: Date
    /// Apple has accepted the token before.
    var isProven: Bool
    var pausedUntil: Date?
    /// The session that registered it.
    var session: UUID
    /// When the session ends unless it is used before; `nil` if that is not known.
    var liveUntil: Date?
    var locale: String?
    var timeZone: String?
}
