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
    public var events: [Event]

    public init(
        user: User, state: String, phoneVerified: Bool?, apple: Apple?, passwordChangedAt: Date?, sessions: [Session],
        knownDevices: [KnownDevice]?, knownNetworks: [KnownDevice]? = nil, devices: [DeviceExport.Entry],
        events: [Event]
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
        self.events = events
    }
}

/// The request to `IDENTITY_RESET_HOOK_URL` after a client has requested a password reset.
public struct PasswordResetMessage: Codable, Sendable, Equatable, Confidential {
    /// `email` or `phone`.
    public var channel: String
    /// The recipient.
    public var to: String
    /// The token that the app sends to `POST /v1/auth/password/reset`.
    public var token: String
    public var expiresAt: Date

    public init(channel: String, to: String, token: String, expiresAt: Date) {
        self.channel = channel
        self.to = to
        self.token = token
        self.expiresAt = expiresAt
    }
}
