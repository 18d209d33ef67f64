public import Foundation

/// A signed-in device as its user sees it.
public struct Session: Codable, Sendable, Equatable {
    @LowercaseUUID public var id: UUID
    /// Whether it is the session that asks.
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

/// What an app says of the device it runs on when it signs in.
public struct SessionDevice: Codable, Sendable, Equatable {
    public var installationId: String?
    public var name: String?
    public var model: String?
    public var osVersion: String?
    public var appVersion: String?
    /// As the last sign-in on the device gave it. No part of the session.
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
