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
