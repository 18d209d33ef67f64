import Foundation

/// What Apple has granted for a user. It is revoked when the user deletes the account or unlinks Apple.
struct AppleGrant: Codable, Sendable, Equatable {
    enum Kind: String, Codable, Sendable {
        case refreshToken
        /// Single-use, and good for five minutes.
        case authorizationCode
    }

    /// Seconds.
    static let codeLifetime: TimeInterval = 300

    /// The app's identifier for which Apple has granted it.
    var clientID: String
    var kind: Kind
    var secret: String
    /// Of a code that came from Sign in with Apple JS: Apple takes it only with the address that it was asked for with.
    var redirectURI: String?
}
