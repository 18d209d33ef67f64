public import Foundation

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
    /// After a sign-in: says that this user has signed in on this device. The app keeps it, also when the user signs out,
    /// and shows it with the next sign-in (``SessionDevice/deviceToken``).
    public var deviceToken: String?

    public init(
        accessToken: String, refreshToken: String, expiresIn: Int, expiresAt: Date, refreshExpiresIn: Int,
        refreshExpiresAt: Date, user: User, deviceToken: String? = nil
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
    }
}
