package import Foundation

/// How recently a user must have authenticated for actions that a stolen access token must not allow: taking an account
/// over, deleting it, or reading all of its data.
package struct AuthenticationAge: Sendable, Equatable {
    /// Seconds.
    package let maximum: Int

    package init(maximum: Int) {
        self.maximum = maximum
    }

    /// Seconds of tolerance, because the time of authentication is by PostgreSQL's clock at tokens, and "now" by this
    /// process's.
    static let leeway: TimeInterval = 5

    /// Whether the authentication is recent enough.
    ///
    /// A time in the future counts as now: the other clock is ahead, and only tokens writes this time.
    ///
    /// - Parameter time: when the user authenticated; `nil` where it is unknown, which is never recent enough.
    package func accepts(_ time: Date?, now: Date) -> Bool {
        guard let time else { return false }
        return now.timeIntervalSince(time) <= Double(maximum) + Self.leeway
    }
}

/// An account's state and versions once a sign-in's session has been created.
struct AccountVersions: Sendable, Equatable {
    var state: AccountState
    var version: Int64
    var credentialsVersion: Int64
}

/// Whether a session may be issued: the account may have changed between verification and the creation of the session.
enum SignInOutcome: Equatable {
    /// The credentials are those that were verified. The session may be issued.
    case valid
    /// The account was deleted meanwhile. The response is the same as if it had never existed.
    case gone
    case disabled
    /// The session is revoked, and the account is read again.
    case credentialsChanged

    /// - Parameters:
    ///   - credentialsVersion: the version when the user was verified.
    ///   - now: the account after the session was created; `nil` when it no longer exists.
    static func decide(verifiedAt credentialsVersion: Int64, now: AccountVersions?) -> SignInOutcome {
        guard let now else { return .gone }
        if now.state == .disabled { return .disabled }
        return now.credentialsVersion == credentialsVersion ? .valid : .credentialsChanged
    }
}
