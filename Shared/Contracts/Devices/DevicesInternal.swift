public import Foundation

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
        public var status: DeviceStatus
        public var locale: String?
        public var timeZone: String?
        public var appVersion: String?
        public var osVersion: String?
        public var model: String?
        /// The session that registered last.
        @LowercaseUUID public var sessionId: UUID
        public var createdAt: Date
        public var updatedAt: Date

        public init(
            id: UUID, installationId: String? = nil, environment: PushEnvironment, bundleId: String, kind: PushKind,
            status: DeviceStatus, locale: String? = nil, timeZone: String? = nil, appVersion: String? = nil,
            osVersion: String? = nil, model: String? = nil, sessionId: UUID, createdAt: Date, updatedAt: Date
        ) {
            self.id = id
            self.installationId = installationId
            self.environment = environment
            self.bundleId = bundleId
            self.kind = kind
            self.status = status
            self.locale = locale
            self.timeZone = timeZone
            self.appVersion = appVersion
            self.osVersion = osVersion
            self.model = model
            self.sessionId = sessionId
            self.createdAt = createdAt
            self.updatedAt = updatedAt
        }
    }

    public var devices: [Entry]

    public init(devices: [Entry]) {
        self.devices = devices
    }
}
