public import Foundation

/// A signed-in device as its user sees it.
public struct Session: Codable, Sendable, Equatable {
    @LowercaseUUID public var id: UUID
    /// Whether it is the session of this request.
    public var current: Bool
    public var createdAt: Date
    public var lastUsedAt: Date
    public var expiresAt: Date
    public var device: SessionDevice?
    public var ipAddress: String?

    public init(
        id: UUID, current: Bool, createdAt: Date, lastUsedAt: Date, expiresAt: Date, device: SessionDevice? = nil,
        ipAddress: String? = nil
    ) {
        self.id = id
        self.current = current
        self.createdAt = createdAt
        self.lastUsedAt = lastUsedAt
        self.expiresAt = expiresAt
        self.device = device
        self.ipAddress = ipAddress
    }
}

/// The answer to `GET /v1/auth/sessions`
public struct SessionList: Codable, Sendable, Equatable {
    public var sessions: [Session]

    public init(sessions: [Session]) {
        self.sessions = sessions
    }
}

/// The app's description of its device at the sign-in.
public struct SessionDevice: Codable, Sendable, Equatable {
    public var installationId: String?
    public var name: String?
    public var model: String?
    public var osVersion: String?
    public var appVersion: String?
    /// The token that the last sign-in on the device returned. It is not a part of the session.
    public var deviceToken: String?

    public init(
        installationId: String? = nil, name: String? = nil, model: String? = nil, osVersion: String? = nil,
        appVersion: String? = nil, deviceToken: String? = nil
    ) {
        self.installationId = installationId
        self.name = name
        self.model = model
        self.osVersion = osVersion
        self.appVersion = appVersion
        self.deviceToken = deviceToken
    }
}

/// The answer to every sign-in and refresh.
public struct AuthResponse: Codable, Sendable, Equatable, Confidential {
    public var accessToken: String
    public var refreshToken: String
    public var tokenType: String
    /// Seconds until the access token expires.
    public var expiresIn: Int
    public var expiresAt: Date
    /// Seconds until the refresh token expires.
    public var refreshExpiresIn: Int
    /// The earlier of idle and absolute expiry.
    public var refreshExpiresAt: Date
    public var user: User
    /// After a sign-in: proves that this user has signed in on this device. The app keeps it, even after a sign-out,
    /// and sends it with the next sign-in (``SessionDevice/deviceToken``).
    public var deviceToken: String?
    /// After a sign-in: kinds of the identifiers that it verified, and that another account has verified before. The
    /// account of ``user`` goes without them. If the other one is the user's too, both can be merged:
    /// `POST /v1/auth/merge`. Absent if none, and in the answer to a refresh.
    public var conflictingIdentifiers: [IdentifierKind]?

    public init(
        accessToken: String, refreshToken: String, expiresIn: Int, expiresAt: Date, refreshExpiresIn: Int,
        refreshExpiresAt: Date, user: User, deviceToken: String? = nil,
        conflictingIdentifiers: [IdentifierKind]? = nil
    ) {
        self.accessToken = accessToken
        self.refreshToken = refreshToken
        self.tokenType = "Bearer"
        self.expiresIn = expiresIn
        self.expiresAt = expiresAt
        self.refreshExpiresIn = refreshExpiresIn
        self.refreshExpiresAt = refreshExpiresAt
        self.user = user
        self.deviceToken = deviceToken
        self.conflictingIdentifiers = conflictingIdentifiers
    }
}

/// How a user authenticated: a value of the access token's `amr`, from RFC 8176 if that has one.
public struct AuthenticationMethod: OpenValue {
    public static let password = Self(rawValue: "pwd")
    /// A code or a link that was sent to an address or number of the user.
    public static let oneTimeCode = Self(rawValue: "otp")
    /// In addition to ``oneTimeCode``: the code came in a text message.
    public static let textMessage = Self(rawValue: "sms")
    /// Sign in with Apple.
    public static let apple = Self(rawValue: "apple")

    public static let known: [Self] = [.password, .oneTimeCode, .textMessage, .apple]

    public let rawValue: String

    public init(rawValue: String) {
        self.rawValue = rawValue
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
