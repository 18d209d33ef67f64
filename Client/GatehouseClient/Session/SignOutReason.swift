/// Why nobody is signed in any more.
public struct SignOutReason: Sendable, Hashable, CustomStringConvertible {
    public let description: String

    public init(_ description: String) { self.description = description }

    /// The user signed out here.
    public static let user = Self("user")
    /// The server refused the current refresh token: the session was ended elsewhere or revoked.
    public static let endedByServer = Self("endedByServer")
    /// The same, and the session had not been used for so long that it was over.
    public static let expired = Self("expired")
    /// The user deleted the account here.
    public static let accountDeleted = Self("accountDeleted")
    /// Another process that shares the store signed out.
    public static let otherProcess = Self("otherProcess")
    /// The user took the consent back in the settings of their Apple account, or closed that account.
    public static let appleCredentialRevoked = Self("appleCredentialRevoked")
    /// What was stored could not be read by any version.
    public static let storeCorrupt = Self("storeCorrupt")
}
