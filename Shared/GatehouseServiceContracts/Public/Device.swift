public import Foundation

/// `POST /v1/devices/register`
public struct Registration: Codable, Sendable, Equatable, Confidential {
    /// The APNs device token: an even count of hexadecimal digits, at most 2,048, of no fixed length.
    public var token: String
    public var environment: PushEnvironment
    public var bundleId: String
    public var installationId: String?
    /// Default `alert`.
    public var kind: PushKind?
    /// The app's id of the Live Activity that a token of the kind `liveactivity` updates.
    public var activity: String?
    /// The type of the Live Activity's attributes. A token of the kind `pushtostart` starts activities of this type.
    public var attributesType: String?
    public var locale: String?
    /// A name of the IANA time zone database.
    public var timeZone: String?
    public var appVersion: String?
    public var osVersion: String?
    public var model: String?
    /// Whether the user lets the app show notifications. Absent if the app does not know. It withholds no push.
    public var alertsAllowed: Bool?

    public init(
        token: String, environment: PushEnvironment, bundleId: String, installationId: String? = nil,
        kind: PushKind? = nil, activity: String? = nil, attributesType: String? = nil, locale: String? = nil,
        timeZone: String? = nil, appVersion: String? = nil, osVersion: String? = nil, model: String? = nil,
        alertsAllowed: Bool? = nil
    ) {
        self.token = token
        self.environment = environment
        self.bundleId = bundleId
        self.installationId = installationId
        self.kind = kind
        self.activity = activity
        self.attributesType = attributesType
        self.locale = locale
        self.timeZone = timeZone
        self.appVersion = appVersion
        self.osVersion = osVersion
        self.model = model
        self.alertsAllowed = alertsAllowed
    }
}

/// A registration as its user sees it. It never holds the token.
public struct Device: Codable, Sendable, Equatable {
    @LowercaseUUID public var id: UUID
    public var installationId: String?
    public var environment: PushEnvironment
    public var bundleId: String
    public var kind: PushKind
    public var activity: String?
    public var attributesType: String?
    public var status: DeviceStatus
    public var locale: String?
    public var timeZone: String?
    public var appVersion: String?
    /// Whether the user lets the app show notifications, as the app said when it registered. Absent if it said nothing.
    public var alertsAllowed: Bool?
    public var createdAt: Date
    public var updatedAt: Date

    public init(
        id: UUID, installationId: String? = nil, environment: PushEnvironment, bundleId: String, kind: PushKind,
        activity: String? = nil, attributesType: String? = nil, status: DeviceStatus, locale: String? = nil,
        timeZone: String? = nil, appVersion: String? = nil, alertsAllowed: Bool? = nil, createdAt: Date, updatedAt: Date
    ) {
        self.id = id
        self.installationId = installationId
        self.environment = environment
        self.bundleId = bundleId
        self.kind = kind
        self.activity = activity
        self.attributesType = attributesType
        self.status = status
        self.locale = locale
        self.timeZone = timeZone
        self.appVersion = appVersion
        self.alertsAllowed = alertsAllowed
        self.createdAt = createdAt
        self.updatedAt = updatedAt
    }
}

/// The answer to `GET /v1/devices`
public struct DeviceList: Codable, Sendable, Equatable {
    public var devices: [Device]

    public init(devices: [Device]) {
        self.devices = devices
    }
}

/// Which of Apple's push servers a token belongs to.
public struct PushEnvironment: OpenValue {
    public static let sandbox = Self(rawValue: "sandbox")
    public static let production = Self(rawValue: "production")

    public static let known: [Self] = [.sandbox, .production]

    public let rawValue: String

    public init(rawValue: String) {
        self.rawValue = rawValue
    }
}

/// The kind of push messages that a token may receive.
public struct PushKind: OpenValue {
    public static let alert = Self(rawValue: "alert")
    public static let voip = Self(rawValue: "voip")
    /// Updates and ends one Live Activity.
    public static let liveactivity = Self(rawValue: "liveactivity")
    /// Starts Live Activities of one type.
    public static let pushtostart = Self(rawValue: "pushtostart")

    public static let known: [Self] = [.alert, .voip, .liveactivity, .pushtostart]

    public let rawValue: String

    public init(rawValue: String) {
        self.rawValue = rawValue
    }
}

/// Whether a device can be reached.
public struct DeviceStatus: OpenValue {
    public static let active = Self(rawValue: "active")
    /// Apple no longer accepts the token.
    public static let invalid = Self(rawValue: "invalid")

    public static let known: [Self] = [.active, .invalid]

    public let rawValue: String

    public init(rawValue: String) {
        self.rawValue = rawValue
    }
}
