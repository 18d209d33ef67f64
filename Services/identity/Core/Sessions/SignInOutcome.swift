// Pure: no I/O, no clock.

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
