/// What an account is like at the moment when a sign-in's session has been made.
struct AccountStanding: Sendable, Equatable {
    var state: AccountState
    var version: Int64
    var credentialsVersion: Int64
}

/// Whether a session may be given out: the account may have changed between the proof and the session.
enum SignInOutcome: Equatable {
    /// The credentials are those of the proof. The session may be given out.
    case stands
    /// The account was deleted meanwhile. The answer is as if it had never been there.
    case gone
    case disabled
    /// The credentials changed. The proof has to be made again.
    case moved

    /// - Parameters:
    ///   - credentialsVersion: as it was when the proof was made.
    ///   - now: the account after the session was made; `nil` when there is none any more.
    static func judge(provedAt credentialsVersion: Int64, now: AccountStanding?) -> SignInOutcome {
        guard let now else { return .gone }
        if now.state == .disabled { return .disabled }
        return now.credentialsVersion == credentialsVersion ? .stands : .moved
    }
}
