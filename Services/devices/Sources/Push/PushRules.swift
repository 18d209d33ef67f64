import Crypto
import Foundation
import GatehouseServiceContracts

/// A push that Apple would not refuse for its form, with its recipients.
struct ValidPush: Sendable, Equatable {
    let content: PushContent
    /// Empty for a segment.
    let recipients: [PushRecipient]
    /// The recipients in place of named ones.
    var segment: Segment?
    /// Devices in a minute; `nil`: no limit.
    var ratePerMinute: Int?
    /// `nil`: at once.
    let sendAt: Date?
    let isDryRun: Bool

    /// About as many bytes as a row of `pushes` has for a recipient: its bucket, kind, and two ids.
    private static let bytesOfRecipient = 42

    /// What the caller's queue counts before the targets are there. A segment counts as one recipient.
    var recipientCount: Int { max(1, recipients.count) }

    /// About the bytes of its row.
    var bytes: Int {
        content.payload.count + content.localizedPayloads.values.reduce(0) { $0 + $1.count }
            + recipients.count * Self.bytesOfRecipient
    }
}

/// The content of a push.
struct PushContent: Sendable, Equatable {
    var bundleID: String
    /// `nil`: both.
    var environment: PushEnvironment?
    var type: PushType
    /// The registrations that receive it.
    var kind: PushKind
    /// Of these the ones of a Live Activity; `nil`: all.
    var activity: String?
    /// Of these the ones that start Live Activities of a type; `nil`: all.
    var attributesType: String?
    var priority: PushPriority
    var collapseID: String?
    var expiresAt: Date
    /// JSON, as the caller wrote it. Of a template: in the fallback locale.
    var payload: [UInt8]
    var onDoubt: PushDoubt
    var urgency: PushUrgency
    /// Of a broadcast, which has no other recipient.
    var channel: BroadcastChannel?
    /// A template's payload in each locale, by language tag in lower case; empty if there is only one.
    var localizedPayloads: [String: [UInt8]] = [:]
    var timing = RecipientTiming()
    /// Pushes with a cap that a user receives in a day; `nil` without a cap.
    var capPerDay: Int?

    /// `apns-topic`
    var topic: String { bundleID + type.topicSuffix }

    /// Of `apns-expiration`. On a channel without storage it must be 0; 0 is valid on others too. Apple, "Sending
    /// broadcast push notification requests to APNs".
    var apnsExpiration: Date {
        channel == nil || channel?.storage == .mostRecentMessage ? expiresAt : Date(timeIntervalSince1970: 0)
    }

    /// - Parameter locale: the device's.
    func payload(for locale: String?) -> [UInt8] { LocaleLookup.first(for: locale, in: localizedPayloads) ?? payload }
}

/// A user, a session, a device or a channel that a push names. Its bucket has all its devices.
struct PushRecipient: Sendable, Hashable {
    enum Kind: String, Sendable {
        case user
        case session
        case device
        case channel
    }

    let bucket: Bucket
    let kind: Kind
    let id: UUID
    /// The owner of a device. For others the same as `id`.
    let user: UUID

    static func user(_ id: UUID) -> Self { Self(bucket: Bucket(user: id), kind: .user, id: id, user: id) }
    static func session(_ id: UUID) -> Self { Self(bucket: Bucket(session: id), kind: .session, id: id, user: id) }
    static func channel(_ id: UUID) -> Self { Self(bucket: Bucket(user: id), kind: .channel, id: id, user: id) }
    static func device(_ id: UUID, of user: UUID) -> Self {
        Self(bucket: Bucket(user: user), kind: .device, id: id, user: user)
    }
}

/// The errors of a push: every field, not only the first.
struct InvalidPush: Error, Equatable, CustomStringConvertible {
    let fields: [InvalidRegistration.Field]

    var description: String { fields.map { "\($0.name): \($0.message)" }.joined(separator: " ") }
}

/// The checks before anything is kept.
enum PushRules {
    /// Users, sessions and devices that a push may name.
    static let maximumRecipients = 1000
    /// Bytes of `apns-collapse-id`. Apple, "Sending notification requests to APNs".
    static let maximumCollapseID = 64
    static let maximumKey = 255
    /// The highest cap per user and day: a counter keeps so many ids.
    static let maximumCap = 100
    /// Seconds: the longest that APNs stores a notification (ibid.), and the longest that one is scheduled ahead.
    static let maximumPeriod: TimeInterval = 30 * 86_400
    static let defaultPeriod: TimeInterval = 86_400

    /// - Parameters:
    ///   - payload: the bytes of the request's `payload`.
    ///   - caller: gives the push its quiet hours, its cap and the space of its tags.
    /// - Throws: every field that is wrong.
    static func validate(
        _ request: PushRequest, payload: [UInt8], of caller: PushCaller? = nil,
        templates: PushTemplates = PushTemplates(), now: Date
    ) throws(InvalidPush) -> ValidPush {
        var wrong: [InvalidRegistration.Field] = []
        func report(_ field: String, _ message: String) { wrong.append(.init(name: field, message: message)) }
        func check(_ field: String, _ isGood: Bool, _ message: String) { if !isGood { report(field, message) } }
        let type = request.pushType
        let priority = request.priority ?? type.priorities[0]
        let recipients =
            (request.targets.users ?? []).map(PushRecipient.user)
            + (request.targets.sessions ?? []).map(PushRecipient.session)
            + (request.targets.devices ?? []).map { PushRecipient.device($0.device, of: $0.user) }

        let segment = request.targets.segment.map {
            SegmentRules.validate($0, tagSpace: caller?.tagSpace, report: report)
        }
        check(
            "targets", segment == nil ? (1...maximumRecipients).contains(recipients.count) : recipients.isEmpty,
            "Must name 1 to \(maximumRecipients) users, sessions and devices, or a segment and none of these.")
        check(
            "urgency", segment == nil || [nil, .bulk].contains(request.urgency), "Must be bulk for a segment.")
        check(
            "ratePerMinute",
            request.ratePerMinute.map((1...SegmentRules.maximumRatePerMinute).contains) ?? true,
            "Must be 1 to \(SegmentRules.maximumRatePerMinute).")
        check("bundleId", BundleID.isValid(request.bundleId), "Must be an app's bundle identifier.")
        check(
            "environment", request.environment?.isKnown ?? true,
            "Must be one of \(PushEnvironment.known.map(\.rawValue).joined(separator: ", ")).")
        check("pushType", type.registrationKind != nil, "Devices cannot register for this push type.")
        let payloads = PayloadRules.payloads(of: request, bytes: payload, templates: templates, report: report)
        let receivers = PayloadRules.check(payloads, of: type, report: report)
        check(
            "targets.activity", request.targets.activity == nil || receivers.kind == .liveactivity,
            "Only updates and ends of Live Activities may have this.")
        check("targets.activity", request.targets.activity.map(VisibleText.isValid) ?? true, VisibleText.rule)
        check(
            "priority", type.priorities.contains(priority),
            "Must be \(type.priorities.map { String($0.rawValue) }.joined(separator: " or ")) for this push type.")
        check(
            "collapseId", request.collapseId.map(isCollapseID) ?? true,
            "Must be 1 to \(maximumCollapseID) visible ASCII characters.")
        let timing = RecipientTiming(of: request, caller: caller, report: report)
        let due = dueTimes(of: request, sendAtLocal: timing.sendAt, now: now, report: report)
        let expiresAt = request.expiresAt ?? due.upperBound + defaultPeriod
        check(
            "expiresAt",
            expiresAt > due.upperBound && expiresAt.timeIntervalSince(due.lowerBound) <= maximumPeriod,
            "Must be at most 30 days after the push is due, and not before.")
        check(
            "capPerDay", request.capPerDay.map((1...maximumCap).contains) ?? true, "Must be from 1 to \(maximumCap).")
        guard wrong.isEmpty, let first = payloads.first else { throw InvalidPush(fields: wrong) }
        var content = PushContent(
            bundleID: request.bundleId, environment: request.environment, type: type, kind: receivers.kind,
            activity: request.targets.activity, attributesType: receivers.attributesType, priority: priority,
            collapseID: request.collapseId, expiresAt: expiresAt, payload: first.bytes,
            onDoubt: request.onDoubt ?? .repeat, urgency: request.urgency ?? (segment == nil ? .normal : .bulk))
        if payloads.count > 1 {
            for payload in payloads { content.localizedPayloads[payload.locale ?? ""] = payload.bytes }
        }
        content.timing = timing
        content.capPerDay = [request.capPerDay, type == .alert ? caller?.capPerDay : nil].compactMap(\.self).min()
        return ValidPush(
            content: content, recipients: recipients.withoutRepetitions, segment: segment,
            ratePerMinute: request.ratePerMinute,
            sendAt: due.lowerBound > now ? due.lowerBound : nil, isDryRun: request.dryRun ?? false)
    }

    /// When the push is due for its first and for its last recipient.
    private static func dueTimes(
        of request: PushRequest, sendAtLocal: LocalTime?, now: Date, report: (String, String) -> Void
    ) -> ClosedRange<Date> {
        guard let sendAtLocal else {
            let start = request.sendAt.map { max($0, now) } ?? now
            if start.timeIntervalSince(now) > maximumPeriod { report("sendAt", "Must be within 30 days.") }
            return start...start
        }
        let inUTC = Date(timeIntervalSince1970: Double(sendAtLocal.seconds))
        if inUTC.timeIntervalSince(now) > maximumPeriod { report("sendAtLocal", "Must be within 30 days.") }
        return max(inUTC - WallClock.offsets.upperBound, now)...max(inUTC - WallClock.offsets.lowerBound, now)
    }

    /// The expiration of dead letters that are sent again.
    static func validate(_ replay: PushReplay, now: Date) throws(InvalidPush) -> Date {
        let expiresAt = replay.expiresAt ?? now + defaultPeriod
        guard expiresAt > now, expiresAt.timeIntervalSince(now) <= maximumPeriod else {
            throw InvalidPush(fields: [.init(name: "expiresAt", message: "Must be within 30 days.")])
        }
        return expiresAt
    }

    /// Whether a text may be an `Idempotency-Key`.
    static func isKey(_ text: String) -> Bool { isVisible(text, upTo: maximumKey) }

    private static func isCollapseID(_ text: String) -> Bool { isVisible(text, upTo: maximumCollapseID) }

    private static func isVisible(_ text: String, upTo maximum: Int) -> Bool {
        (1...maximum).contains(text.utf8.count) && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
    }

    /// The `apns-id` of a push on a device, the same for each repetition: a UUID of version 5 (RFC 9562 §5.5) of the
    /// device in the namespace of the push.
    static func id(of push: UUID, on device: UUID) -> UUID {
        var hash = Insecure.SHA1()
        withUnsafeBytes(of: push.uuid) { hash.update(bufferPointer: $0) }
        withUnsafeBytes(of: device.uuid) { hash.update(bufferPointer: $0) }
        return UUID(version5: Array(hash.finalize()))
    }
}

extension [PushRecipient] {
    fileprivate var withoutRepetitions: [PushRecipient] {
        var seen: Set<PushRecipient> = []
        return filter { seen.insert($0).inserted }
    }
}

extension UUID {
    /// - Parameter hash: SHA-1 of the namespace and the name.
    init(version5 hash: [UInt8]) {
        var id = hash
        id[6] = 0x50 | id[6] & 0x0F
        id[8] = 0x80 | id[8] & 0x3F
        self = id.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
    }
}

/// Apple's rules for each push type: "Sending notification requests to APNs".
extension PushType {
    /// The suffix of the bundle id in `apns-topic`.
    var topicSuffix: String {
        switch self {
        case .alert, .background, .mdm: ""
        case .controls: ".push-type.controls"
        case .location: ".location-query"
        case .voip: ".voip"
        case .complication: ".complication"
        case .fileprovider: ".pushkit.fileprovider"
        case .liveactivity: ".push-type.liveactivity"
        case .pushtotalk: ".voip-ptt"
        case .widgets: ".push-type.widgets"
        }
    }

    /// The kind of registrations whose tokens are for this type. Another kind's token is `DeviceTokenNotForTopic`.
    /// `nil` while devices register no such tokens, and for `mdm`, whose topic is no bundle id.
    var registrationKind: PushKind? {
        switch self {
        case .alert, .background: .alert
        case .voip: .voip
        case .liveactivity: .liveactivity
        case .controls, .location, .complication, .fileprovider, .mdm, .pushtotalk, .widgets: nil
        }
    }

    /// The priorities that APNs accepts, the default first. Of `background` "using priority 10 is an error".
    var priorities: [PushPriority] {
        switch self {
        case .background: [.considerate]
        case .pushtotalk: [.immediate]
        // "Starting and updating Live Activities with ActivityKit push notifications": 5 or 10.
        case .liveactivity: [.immediate, .considerate]
        default: [.immediate, .considerate, .powerSaving]
        }
    }

    /// Bytes. "Generating a remote notification".
    var maximumPayload: Int { self == .voip ? 5120 : 4096 }
}
