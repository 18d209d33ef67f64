public import Foundation

/// What tokens keeps of a user beside each session, so that a refresh needs nobody else.
public struct UserSnapshot: Codable, Sendable, Equatable {
    public var user: User
    /// Grows with every change of the user; tokens keeps the highest it has seen.
    public var version: Int64

    public init(user: User, version: Int64) {
        self.user = user
        self.version = version
    }
}

/// `POST /internal/sessions`: identity has proved who somebody is and asks for a session. The answer is an
/// ``AuthResponse``.
public struct CreateSessionRequest: Codable, Sendable {
    /// The caller's choice, new for each request: with it the caller takes the session back
    /// (`DELETE /internal/sessions/{id}`), also when the answer was lost.
    @LowercaseUUID public var sessionID: UUID
    public var snapshot: UserSnapshot
    /// The version of the credentials that the proof was made against. When they change, the sessions below the new
    /// version are revoked.
    public var credentialsVersion: Int64
    /// Seconds since the sign-in began. If the user has signed out everywhere since then, it gets no session.
    public var signInAge: Double
    public var device: SessionDevice?
    public var ipAddress: String?
    /// How the user proved who they are. The time of the proof is that of the session's creation.
    public var authenticationMethods: [AuthenticationMethod]?

    public init(
        sessionID: UUID, snapshot: UserSnapshot, credentialsVersion: Int64, signInAge: Double,
        device: SessionDevice? = nil, ipAddress: String? = nil, authenticationMethods: [AuthenticationMethod]? = nil
    ) {
        self.sessionID = sessionID
        self.snapshot = snapshot
        self.credentialsVersion = credentialsVersion
        self.signInAge = signInAge
        self.device = device
        self.ipAddress = ipAddress
        self.authenticationMethods = authenticationMethods
    }
}

/// `PUT /internal/sessions/{id}/authentication`: the user of a living session has proved again who they are. The time of
/// that proof is now.
public struct RenewAuthenticationRequest: Codable, Sendable {
    /// Whose session it has to be.
    @LowercaseUUID public var userID: UUID
    /// How the user proved it.
    public var methods: [AuthenticationMethod]

    public init(userID: UUID, methods: [AuthenticationMethod]) {
        self.userID = userID
        self.methods = methods
    }
}

/// `POST /internal/users/{id}/revoke`: ends the user's sessions.
public struct RevokeSessionsRequest: Codable, Sendable {
    /// A session to spare.
    public var exceptSession: UUID?
    /// Spares the sessions that were proved against these credentials or newer ones, so that a revocation that comes
    /// late ends none that was made after its cause. Without it none is spared for its age.
    public var belowCredentialsVersion: Int64?
    public var reason: RevocationReason

    public init(exceptSession: UUID? = nil, belowCredentialsVersion: Int64? = nil, reason: RevocationReason) {
        self.exceptSession = exceptSession
        self.belowCredentialsVersion = belowCredentialsVersion
        self.reason = reason
    }
}

/// Why a session ended.
public struct RevocationReason: OpenValue {
    public static let logout = Self(rawValue: "logout")
    public static let replay = Self(rawValue: "replay")
    public static let passwordChanged = Self(rawValue: "passwordChanged")
    public static let accountDisabled = Self(rawValue: "accountDisabled")
    public static let accountDeleted = Self(rawValue: "accountDeleted")
    public static let administrator = Self(rawValue: "administrator")
    /// A sign-in that lost against a change of the user's credentials was taken back.
    public static let superseded = Self(rawValue: "superseded")
    /// The user's oldest idle session made room for a new one.
    public static let sessionLimit = Self(rawValue: "sessionLimit")
    /// Nobody refreshed it for the idle lifetime, or its absolute lifetime was over; told when its row is purged.
    public static let expired = Self(rawValue: "expired")

    public static let known: [Self] = [
        .logout, .replay, .passwordChanged, .accountDisabled, .accountDeleted, .administrator, .superseded,
        .sessionLimit, .expired,
    ]

    public let rawValue: String

    public init(rawValue: String) {
        self.rawValue = rawValue
    }
}

/// The answer to `GET /internal/revocations`
public struct RevocationPage: Codable, Sendable, Equatable {
    /// A session that was revoked.
    public struct Entry: Codable, Sendable, Equatable {
        @LowercaseUUID public var sessionID: UUID
        @LowercaseUUID public var userID: UUID
        public var revokedAt: Date
        /// Seconds since the revocation when the page was made, both by the database's clock; `nil` from a tokens that
        /// does not say so yet.
        public var age: Double?
        /// No access token of the session lives longer than this.
        public var accessExpiresAt: Date
        public var reason: RevocationReason

        public init(
            sessionID: UUID, userID: UUID, revokedAt: Date, age: Double? = nil, accessExpiresAt: Date,
            reason: RevocationReason
        ) {
            self.sessionID = sessionID
            self.userID = userID
            self.revokedAt = revokedAt
            self.age = age
            self.accessExpiresAt = accessExpiresAt
            self.reason = reason
        }
    }

    /// What to send as `after` by whoever wants nothing of before. A tokens that does not know it answers with `reset`.
    public static let latest = "latest"

    public var entries: [Entry]
    /// Opaque; what to send as `after` next.
    public var cursor: String
    /// The cursor that was sent is older than what is kept: forget everything and read on from `cursor`.
    public var reset: Bool
    /// More entries wait; ask again at once.
    public var more: Bool

    public init(entries: [Entry], cursor: String, reset: Bool, more: Bool) {
        self.entries = entries
        self.cursor = cursor
        self.reset = reset
        self.more = more
    }
}

/// `POST /v1/auth/refresh`
public struct RefreshRequest: Codable, Sendable, Confidential {
    public var refreshToken: String

    public init(refreshToken: String) {
        self.refreshToken = refreshToken
    }
}

/// `POST /v1/auth/logout`
public struct LogoutRequest: Codable, Sendable, Confidential {
    public var refreshToken: String?

    public init(refreshToken: String? = nil) {
        self.refreshToken = refreshToken
    }
}

/// `POST /v1/auth/logout-all`
public struct LogoutAllRequest: Codable, Sendable {
    public var exceptCurrent: Bool?

    public init(exceptCurrent: Bool? = nil) {
        self.exceptCurrent = exceptCurrent
    }
}
