/// `POST /v1/auth/apple/notifications`, as Apple sends it.
public struct AppleNotificationRequest: Codable, Sendable, Confidential {
    /// A JWS.
    public var payload: String

    public init(payload: String) {
        self.payload = payload
    }
}
