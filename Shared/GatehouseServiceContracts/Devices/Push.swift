public import Foundation

/// The kind of a push (`apns-push-type`), which decides its topic, its priorities and its size. Apple, "Sending
/// notification requests to APNs".
public enum PushType: String, Codable, Sendable, CaseIterable {
    case alert
    case background
    case controls
    case location
    case voip
    case complication
    case fileprovider
    case mdm
    case liveactivity
    case pushtotalk
    case widgets
}

/// The priority of a push (`apns-priority`).
public enum PushPriority: Int, Codable, Sendable, CaseIterable {
    /// Saves power above all, and does not wake the device.
    case powerSaving = 1
    /// Delivered when the device's power allows.
    case considerate = 5
    /// Delivered at once.
    case immediate = 10
}

/// Which pushes are sent first.
public enum PushUrgency: String, Codable, Sendable, CaseIterable {
    case urgent
    case normal
    case bulk
}

/// What happens to a push that Apple may have received without answering, because a connection or a process ended.
public enum PushDoubt: String, Codable, Sendable, CaseIterable {
    /// It is sent again under the same `apns-id`. The device may show it twice.
    case `repeat`
    /// It is not sent again. The device may not have received it.
    case drop
}

/// `POST /internal/push`
public struct PushRequest: Codable, Sendable, Equatable {
    /// The recipients. A device that several of them name receives the push once.
    public struct Targets: Codable, Sendable, Equatable {
        /// Users: each of their devices.
        public var users: [UUID]?
        /// Sessions: the devices that registered with them.
        public var sessions: [UUID]?
        public var devices: [DeviceTarget]?
        /// Of their registrations those of this Live Activity. With the push type `liveactivity` alone.
        public var activity: String?
        /// In place of users, sessions and devices.
        public var segment: PushSegment?

        public init(
            users: [UUID]? = nil, sessions: [UUID]? = nil, devices: [DeviceTarget]? = nil, activity: String? = nil,
            segment: PushSegment? = nil
        ) {
            self.users = users
            self.sessions = sessions
            self.devices = devices
            self.activity = activity
            self.segment = segment
        }
    }

    /// A device of a user. Another user's device does not receive the push.
    public struct DeviceTarget: Codable, Sendable, Equatable {
        @LowercaseUUID public var user: UUID
        @LowercaseUUID public var device: UUID

        public init(user: UUID, device: UUID) {
            self.user = user
            self.device = device
        }
    }

    /// A text in the language of each device: the file of the device's locale, of its language, or of the fallback.
    public struct Template: Codable, Sendable, Equatable {
        public var name: String
        /// A value for each placeholder.
        public var arguments: [String: String]?

        public init(name: String, arguments: [String: String]? = nil) {
            self.name = name
            self.arguments = arguments
        }
    }

    /// Times of day such as `22:00` in the recipient's time zone. From the later one they last until the next day.
    public struct QuietHours: Codable, Sendable, Equatable {
        public var from: String
        public var to: String

        public init(from: String, to: String) {
            self.from = from
            self.to = to
        }
    }

    public var targets: Targets
    public var bundleId: String
    /// Default: both.
    public var environment: PushEnvironment?
    public var pushType: PushType
    /// Default 10; 5 for `background`.
    public var priority: PushPriority?
    /// At most 64 visible ASCII characters. A later push replaces an earlier one with the same id on the device.
    public var collapseId: String?
    /// When the push is of no more use. Default: a day after it is due; at most 30 days after.
    public var expiresAt: Date?
    /// When the push is due: at most 30 days ahead. Its devices are those that are registered then. Default: at once.
    public var sendAt: Date?
    /// As `2026-12-24T09:00:00`: when the push is due in the time zone of each device, at most 30 days ahead. Its
    /// devices are those that are registered 14 hours before this time in UTC.
    public var sendAtLocal: String?
    /// Of devices that have registered no time zone. Default: UTC.
    public var fallbackTimeZone: String?
    /// The push waits until they end. Default: those of the caller.
    public var quietHours: QuietHours?
    /// The push is sent in the caller's quiet hours too.
    public var ignoreQuietHours: Bool?
    /// Pushes with a cap that a user receives in a day of UTC, this one included. The caller may have a lower cap.
    public var capPerDay: Int?
    /// The notification, which is sent byte for byte. Instead of a template.
    public var payload: JSONValue?
    /// Instead of a payload.
    public var template: Template?
    /// Default `repeat`.
    public var onDoubt: PushDoubt?
    /// Default `normal`. A segment is `bulk`.
    public var urgency: PushUrgency?
    /// The most devices to which all replicas together send the push in a minute, without repetitions.
    public var ratePerMinute: Int?
    /// Checks the request and counts the devices, and sends nothing.
    public var dryRun: Bool?

    public init(
        targets: Targets, bundleId: String, environment: PushEnvironment? = nil, pushType: PushType,
        priority: PushPriority? = nil, collapseId: String? = nil, expiresAt: Date? = nil, sendAt: Date? = nil,
        sendAtLocal: String? = nil, fallbackTimeZone: String? = nil, quietHours: QuietHours? = nil,
        ignoreQuietHours: Bool? = nil, capPerDay: Int? = nil, payload: JSONValue? = nil, template: Template? = nil,
        onDoubt: PushDoubt? = nil, urgency: PushUrgency? = nil, ratePerMinute: Int? = nil,
        dryRun: Bool? = nil
    ) {
        self.targets = targets
        self.bundleId = bundleId
        self.environment = environment
        self.pushType = pushType
        self.priority = priority
        self.collapseId = collapseId
        self.expiresAt = expiresAt
        self.sendAt = sendAt
        self.sendAtLocal = sendAtLocal
        self.fallbackTimeZone = fallbackTimeZone
        self.quietHours = quietHours
        self.ignoreQuietHours = ignoreQuietHours
        self.capPerDay = capPerDay
        self.payload = payload
        self.template = template
        self.onDoubt = onDoubt
        self.urgency = urgency
        self.ratePerMinute = ratePerMinute
        self.dryRun = dryRun
    }
}

/// The answer to `POST /internal/push`: the push is kept, and will be sent or have a recorded reason.
public struct PushAccepted: Codable, Sendable, Equatable {
    /// Absent after a dry run.
    public var id: String?
    /// The number of devices, also named ones that are not registered. Absent before a scheduled push is due, and of a
    /// segment or more than 5,000 possible devices (50 a user or session) unless it is a dry run.
    public var devices: Int?
    /// Whether `devices` was extrapolated from a sample, because there are many registrations. Absent if it is exact.
    public var isEstimate: Bool?

    public init(id: String? = nil, devices: Int? = nil, isEstimate: Bool? = nil) {
        self.id = id
        self.devices = devices
        self.isEstimate = isEstimate
    }
}

/// The answer to `GET /internal/push/{id}`
public struct PushStatus: Codable, Sendable, Equatable {
    /// What became of the push on one device. A broadcast has one entry: `device` and `user` are the channel's id.
    public struct Entry: Codable, Sendable, Equatable {
        @LowercaseUUID public var device: UUID
        @LowercaseUUID public var user: UUID
        public var state: PushTargetState
        /// Apple's reason, or the cause of a suppression.
        public var reason: String?
        /// When the state was reached.
        public var at: Date
        /// How often the push was sent to the device.
        public var attempts: Int

        public init(device: UUID, user: UUID, state: PushTargetState, reason: String? = nil, at: Date, attempts: Int) {
            self.device = device
            self.user = user
            self.state = state
            self.reason = reason
            self.at = at
            self.attempts = attempts
        }
    }

    /// How far a push to a segment is. Its devices are read in slices.
    public struct Slices: Codable, Sendable, Equatable {
        public var total: Int
        /// Slices that were read to their end.
        public var done: Int
        /// Slices that the push's expiration has ended early.
        public var expired: Int
        /// Slices that were cancelled.
        public var cancelled: Int
        /// The devices that were read so far. Each is in `counts`.
        public var devices: Int

        public init(total: Int, done: Int, expired: Int, cancelled: Int, devices: Int) {
            self.total = total
            self.done = done
            self.expired = expired
            self.cancelled = cancelled
            self.devices = devices
        }
    }

    @LowercaseUUID public var id: UUID
    public var state: PushState
    public var createdAt: Date
    public var sendAt: Date?
    public var sendAtLocal: String?
    public var expiresAt: Date
    /// The number of devices in each state. Of those that are not registered ``devices`` lists ten.
    public var counts: [String: Int]
    /// Absent unless the push is to a segment that is due.
    public var slices: Slices?
    /// A page of the devices. Of a segment those alone to which it was not sent at once with success.
    public var devices: [Entry]
    /// Opaque. The caller sends it as `after` for the next page. Absent on the last page.
    public var next: String?

    public init(
        id: UUID, state: PushState, createdAt: Date, sendAt: Date?, sendAtLocal: String? = nil, expiresAt: Date,
        counts: [String: Int], slices: Slices? = nil, devices: [Entry], next: String?
    ) {
        self.id = id
        self.state = state
        self.createdAt = createdAt
        self.sendAt = sendAt
        self.sendAtLocal = sendAtLocal
        self.expiresAt = expiresAt
        self.counts = counts
        self.slices = slices
        self.devices = devices
        self.next = next
    }
}

/// Where a push stands as a whole.
public struct PushState: OpenValue {
    /// `sendAt` has not come.
    public static let scheduled = Self(rawValue: "scheduled")
    public static let sending = Self(rawValue: "sending")
    /// Each device has a final state.
    public static let done = Self(rawValue: "done")
    public static let cancelled = Self(rawValue: "cancelled")

    public static let known: [Self] = [.scheduled, .sending, .done, .cancelled]

    public let rawValue: String

    public init(rawValue: String) {
        self.rawValue = rawValue
    }
}

/// Where a push stands on one device.
public struct PushTargetState: OpenValue {
    public static let queued = Self(rawValue: "queued")
    /// A replica is sending it.
    public static let claimed = Self(rawValue: "claimed")
    /// Apple answered 200. Apple does not say whether the device received it.
    public static let accepted = Self(rawValue: "accepted")
    public static let rejected = Self(rawValue: "rejected")
    /// It is sent again later.
    public static let retryAt = Self(rawValue: "retryAt")
    public static let suppressed = Self(rawValue: "suppressed")
    /// It expired before it was sent.
    public static let expired = Self(rawValue: "expired")
    public static let cancelled = Self(rawValue: "cancelled")
    /// It expired while Apple refused it temporarily. It can be replayed.
    public static let dead = Self(rawValue: "dead")
    /// Apple may have received it, and it is not sent again.
    public static let inDoubt = Self(rawValue: "inDoubt")

    public static let known: [Self] = [
        .queued, .claimed, .accepted, .rejected, .retryAt, .suppressed, .expired, .cancelled, .dead, .inDoubt,
    ]

    public let rawValue: String

    public init(rawValue: String) {
        self.rawValue = rawValue
    }
}

/// The answer to `GET /internal/push/dead`
public struct DeadPushList: Codable, Sendable, Equatable {
    /// A push that was not delivered to a device in time.
    public struct Entry: Codable, Sendable, Equatable {
        @LowercaseUUID public var push: UUID
        @LowercaseUUID public var device: UUID
        @LowercaseUUID public var user: UUID
        /// The last reason of Apple.
        public var reason: String?
        public var at: Date
        public var attempts: Int

        public init(push: UUID, device: UUID, user: UUID, reason: String?, at: Date, attempts: Int) {
            self.push = push
            self.device = device
            self.user = user
            self.reason = reason
            self.at = at
            self.attempts = attempts
        }
    }

    public var entries: [Entry]
    /// Opaque. The caller sends it as `after` for the next page. Absent on the last page.
    public var next: String?

    public init(entries: [Entry], next: String?) {
        self.entries = entries
        self.next = next
    }
}

/// `POST /internal/push/dead/{id}/replay`
public struct PushReplay: Codable, Sendable, Equatable {
    /// Default: in a day; at most in 30 days.
    public var expiresAt: Date?

    public init(expiresAt: Date? = nil) {
        self.expiresAt = expiresAt
    }
}
