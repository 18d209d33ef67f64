public import Foundation

/// The answer to `GET /v1/auth/export`: all data that Gatehouse stores about a user, except secrets.
public struct AccountExport: Codable, Sendable, Equatable {
    /// The link to an Apple account.
    public struct Apple: Codable, Sendable, Equatable {
        /// Apple's identifier of the user, which only this team receives.
        public var subject: String
        /// The client id of the app in which the user signed in with Apple.
        public var clientId: String
        /// The last address that Apple sent.
        public var email: String?
        public var linkedAt: Date
        /// Whether mail to the private relay address is forwarded; absent if Apple has not reported it.
        public var mailForwarding: Bool?
        /// While the app is transferred to another team at Apple: Apple's identifier of the user that both teams
        /// receive.
        public var transferSubject: String?

        public init(
            subject: String, clientId: String, email: String? = nil, linkedAt: Date, mailForwarding: Bool? = nil,
            transferSubject: String? = nil
        ) {
            self.subject = subject
            self.clientId = clientId
            self.email = email
            self.linkedAt = linkedAt
            self.mailForwarding = mailForwarding
            self.transferSubject = transferSubject
        }
    }

    /// A device on which the user has signed in. Its own description of itself is stored in a form that cannot be read.
    public struct KnownDevice: Codable, Sendable, Equatable {
        public var lastUsedAt: Date

        public init(lastUsedAt: Date) {
            self.lastUsedAt = lastUsedAt
        }
    }

    /// An event in the account.
    public struct Event: Codable, Sendable, Equatable {
        public var at: Date
        public var actor: String
        public var event: String
        /// Details: the new role, the kind of an identifier, why a sign-in was refused.
        public var detail: String?
        /// The session that a sign-in began.
        public var sessionId: String?
        /// How often it happened; absent if once.
        public var count: Int?
        /// The address of the actor, for as long as it is stored; absent if another user acted.
        public var ipAddress: String?
        public var userAgent: String?
        public var device: String?
        public var appVersion: String?

        public init(
            at: Date, actor: String, event: String, detail: String? = nil, sessionId: String? = nil, count: Int? = nil,
            ipAddress: String? = nil, userAgent: String? = nil, device: String? = nil, appVersion: String? = nil
        ) {
            self.at = at
            self.actor = actor
            self.event = event
            self.detail = detail
            self.sessionId = sessionId
            self.count = count
            self.ipAddress = ipAddress
            self.userAgent = userAgent
            self.device = device
            self.appVersion = appVersion
        }
    }

    public var user: User
    /// `active` or `disabled`.
    public var state: String
    /// Absent if the user has no phone number.
    public var phoneVerified: Bool?
    public var apple: Apple?
    public var passwordChangedAt: Date?
    public var sessions: [Session]
    /// Absent from an older version of identity.
    public var knownDevices: [KnownDevice]?
    /// Networks from which the user has signed in, in the same form. Absent from an older version of identity.
    public var knownNetworks: [KnownDevice]?
    public var devices: [DeviceExport.Entry]
    /// The tags that the team's services have set. Absent from an older version of devices.
    public var tags: [String]?
    public var events: [Event]

    public init(
        user: User, state: String, phoneVerified: Bool?, apple: Apple? = nil, passwordChangedAt: Date? = nil,
        sessions: [Session],
        knownDevices: [KnownDevice]?, knownNetworks: [KnownDevice]? = nil, devices: [DeviceExport.Entry],
        tags: [String]? = nil, events: [Event]
    ) {
        self.user = user
        self.state = state
        self.phoneVerified = phoneVerified
        self.apple = apple
        self.passwordChangedAt = passwordChangedAt
        self.sessions = sessions
        self.knownDevices = knownDevices
        self.knownNetworks = knownNetworks
        self.devices = devices
        self.tags = tags
        self.events = events
    }
}

/// The answer to `GET /internal/users/{id}/devices`: all data that devices stores about a user, for the user's export.
/// It never contains a token, because a user who knows a token can register the device as theirs.
public struct DeviceExport: Codable, Sendable, Equatable {
    /// One registration.
    public struct Entry: Codable, Sendable, Equatable {
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
        public var osVersion: String?
        public var model: String?
        public var alertsAllowed: Bool?
        /// The session that registered last.
        @LowercaseUUID public var sessionId: UUID
        public var createdAt: Date
        public var updatedAt: Date

        public init(
            id: UUID, installationId: String? = nil, environment: PushEnvironment, bundleId: String, kind: PushKind,
            activity: String? = nil, attributesType: String? = nil, status: DeviceStatus, locale: String? = nil,
            timeZone: String? = nil, appVersion: String? = nil, osVersion: String? = nil, model: String? = nil,
            alertsAllowed: Bool? = nil, sessionId: UUID, createdAt: Date, updatedAt: Date
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
            self.osVersion = osVersion
            self.model = model
            self.alertsAllowed = alertsAllowed
            self.sessionId = sessionId
            self.createdAt = createdAt
            self.updatedAt = updatedAt
        }
    }

    public var devices: [Entry]
    /// The user's tags. Absent from an older version.
    public var tags: [String]?

    public init(devices: [Entry], tags: [String]? = nil) {
        self.devices = devices
        self.tags = tags
    }
}

extension Device {
    /// The part of a registration that its user sees.
    public init(_ entry: DeviceExport.Entry) {
        self.init(
            id: entry.id, installationId: entry.installationId, environment: entry.environment,
            bundleId: entry.bundleId, kind: entry.kind, activity: entry.activity,
            attributesType: entry.attributesType, status: entry.status, locale: entry.locale, timeZone: entry.timeZone,
            appVersion: entry.appVersion, alertsAllowed: entry.alertsAllowed, createdAt: entry.createdAt,
            updatedAt: entry.updatedAt)
    }
}
