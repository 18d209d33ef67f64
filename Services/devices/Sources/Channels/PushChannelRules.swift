import Crypto
import Foundation
import GatehouseServiceContracts

/// The channel of a broadcast.
struct BroadcastChannel: Sendable, Equatable {
    let id: UUID
    /// Apple's identifier; `nil` once the channel is deleted.
    var channelID: String?
    /// `nil` if it is unknown.
    var storage: PushChannelStorage?
    /// Apple has refused too many broadcasts in a row (429).
    var pausedUntil: Date?
}

/// The rules of channels and broadcasts. Apple, "Sending channel management requests to APNs" and "Sending broadcast
/// push notification requests to APNs".
enum PushChannelRules {
    /// Bytes of a broadcast's payload.
    static let maximumPayload = 5120
    /// Bytes. Apple states no length, but bounds are needed for what is kept and sent.
    private static let maximumChannelID = 256
    /// Channels of a list. Apple allows 10,000 of an app and environment.
    private static let maximumChannels = 100_000

    /// Gatehouse's identifier of a channel: a UUID of version 5 (RFC 9562 §5.5), so that a channel that was found in
    /// Apple's list always has the same.
    static func id(ofChannel channelID: String, app bundleID: String, in environment: PushEnvironment) -> UUID {
        var hash = Insecure.SHA1()
        for part in [environment.rawValue, bundleID, channelID] { hash.update(data: Data(part.utf8) + [0]) }
        return UUID(version5: Array(hash.finalize()))
    }

    // MARK: - Requests

    static func validate(bundleID: String?, environment: PushEnvironment?) throws(InvalidPush) {
        var wrong: [InvalidRegistration.Field] = []
        if !(bundleID.map(BundleID.isValid) ?? false) {
            wrong.append(.init(name: "bundleId", message: "Must be an app's bundle identifier."))
        }
        if environment?.isKnown != true {
            let known = PushEnvironment.known.map(\.rawValue).joined(separator: ", ")
            wrong.append(.init(name: "environment", message: "Must be one of \(known)."))
        }
        if !wrong.isEmpty { throw InvalidPush(fields: wrong) }
    }

    /// - Parameter payload: the bytes of the request's `payload`.
    /// - Throws: every field that is wrong.
    static func validate(
        _ request: PushBroadcast, payload: [UInt8], to channel: PushChannel, now: Date
    ) throws(InvalidPush) -> ValidPush {
        var wrong: [InvalidRegistration.Field] = []
        func check(_ field: String, _ isGood: Bool, _ message: String) {
            if !isGood { wrong.append(.init(name: field, message: message)) }
        }
        let start = request.sendAt.map { max($0, now) } ?? now
        let expiresAt = request.expiresAt ?? start + PushRules.defaultPeriod
        check("sendAt", start.timeIntervalSince(now) <= PushRules.maximumPeriod, "Must be within 30 days.")
        check(
            "expiresAt", expiresAt > start && expiresAt.timeIntervalSince(start) <= PushRules.maximumPeriod,
            "Must be at most 30 days after the broadcast is due, and not before.")
        // "You can't use broadcast push notifications to start a Live Activity" (Apple, "Starting and updating Live
        // Activities with ActivityKit push notifications").
        let activity = LiveActivityContent(request.payload)
        check(
            "payload", activity.event == .update || activity.event == .end, "Must have aps.event: update or end.")
        check("payload", activity.hasTimestamp, LiveActivityContent.timestampRule)
        let payload = PayloadRules.fit(payload, into: maximumPayload)
        check("payload", payload.count <= maximumPayload, "Must be at most \(maximumPayload) bytes.")
        guard wrong.isEmpty else { throw InvalidPush(fields: wrong) }
        let content = PushContent(
            bundleID: channel.bundleId, environment: channel.environment, type: .liveactivity, kind: .liveactivity,
            priority: request.priority ?? .immediate, expiresAt: expiresAt, payload: payload,
            onDoubt: request.onDoubt ?? .repeat, urgency: request.urgency ?? .normal,
            channel: BroadcastChannel(id: channel.id, channelID: channel.channelId, storage: channel.storage))
        return ValidPush(
            content: content, recipients: [.channel(channel.id)], sendAt: start > now ? start : nil, isDryRun: false)
    }

    // MARK: - Apple's answers

    /// The identifier of a new channel.
    static func created(_ outcome: SendOutcome) throws(Problem) -> String {
        let answer = try answer(outcome, ofCreation: true)
        guard answer.status == 201 || answer.status == 200, let channelID = answer.channelID, isValid(channelID) else {
            throw unexpected(answer)
        }
        return channelID
    }

    static func listed(_ outcome: SendOutcome) throws(Problem) -> [String] {
        struct Body: Decodable { var channels: [String] }
        let answer = try answer(outcome)
        guard answer.status == 200, let body = try? JSONDecoder().decode(Body.self, from: Data(answer.body)),
            body.channels.count <= maximumChannels, body.channels.allSatisfy(isValid)
        else { throw unexpected(answer) }
        return body.channels
    }

    /// How a channel was created; `nil` if Apple has no such channel.
    static func read(_ outcome: SendOutcome) throws(Problem) -> PushChannelStorage? {
        struct Body: Decodable {
            var policy: Int

            private enum CodingKeys: String, CodingKey { case policy = "message-storage-policy" }
        }
        let answer = try answer(outcome)
        if isGone(answer.reason) { return nil }
        guard answer.status == 200, let body = try? JSONDecoder().decode(Body.self, from: Data(answer.body)),
            let storage = PushChannelStorage(policy: body.policy)
        else { throw unexpected(answer) }
        return storage
    }

    /// Returns when Apple no longer has the channel.
    static func deleted(_ outcome: SendOutcome) throws(Problem) {
        let answer = try answer(outcome)
        guard answer.status == 200 || answer.status == 204 || isGone(answer.reason) else { throw unexpected(answer) }
    }

    /// Whether Apple has no channel with the identifier.
    static func isGone(_ reason: String?) -> Bool { reason == "ChannelNotRegistered" || reason == "BadChannelId" }

    private static func isValid(_ channelID: String) -> Bool {
        (1...maximumChannelID).contains(channelID.utf8.count)
            && channelID.utf8.allSatisfy { (0x21...0x7E).contains($0) }
    }

    private static func answer(_ outcome: SendOutcome, ofCreation: Bool = false) throws(Problem) -> APNsAnswer {
        switch outcome {
        case .answered(let answer): return answer
        case .inDoubt:
            let next = ofCreation ? "The channel may exist: list the channels." : "Repeat the request."
            throw Problem(.timeout, "Apple has not answered. \(next)")
        case .notSent(.noKey):
            throw Problem(
                .unavailable, "No key of Apple's is for this app and environment (DEVICES_APNS_KEYS_FILE).",
                retryAfter: 60)
        case .notSent(.connectionPoolStopped): throw Problem(.unavailable, refusedKey, retryAfter: 60)
        case .notSent: throw Problem(.unavailable, "APNs cannot be reached.", retryAfter: 5)
        }
    }

    private static let refusedKey = "Apple refuses the key of this app. The service's log has the reason."

    /// An answer that is no success. Apple, "Handling error responses from Apple Push Notification service".
    private static func unexpected(_ answer: APNsAnswer) -> Problem {
        switch (answer.status, answer.reason ?? "") {
        case (_, "CannotCreateChannelConfig"):
            .invalid("bundleId", "This app has as many channels as Apple allows. Delete some.")
        case (_, "FeatureNotEnabled"):
            .invalid("bundleId", "Broadcasts are not enabled for this app. Enable them in the developer account.")
        case (_, let reason) where isGone(reason): Problem(.notFound)
        case (_, let reason) where APNsAnswerRules.concernsConnectionPool(reason):
            Problem(.unavailable, refusedKey, retryAfter: 60)
        case (429, _): Problem(.rateLimited, "Apple refuses so many requests.", retryAfter: answer.retryAfter ?? 10)
        case (500..., _):
            Problem(.unavailable, "APNs is temporarily unavailable.", retryAfter: answer.retryAfter ?? 60)
        case (let status, let reason):
            Problem(.badGateway, "Apple answered \(status)\(reason.isEmpty ? "" : " \(reason)").")
        }
    }
}
