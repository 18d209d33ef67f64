import Foundation

/// How long ago somebody may have proved who they are for what a stolen access token must not do: take an account over,
/// end it, or read all of it.
struct AuthenticationAge: Sendable, Equatable {
    /// Seconds.
    let maximum: Int

    /// Seconds by which a proof may be too old: its time is by PostgreSQL's clock at tokens, "now" by this process's.
    static let leeway: TimeInterval = 5

    /// Whether a proof is recent enough.
    ///
    /// A time that is still to come counts as now: the other clock is ahead. Nobody but tokens can have written it.
    ///
    /// - Parameter time: of the proof; `nil` where nobody knows it, which is never recent enough.
    func accepts(_ time: Date?, now: Date) -> Bool {
        guard let time else { return false }
        return now.timeIntervalSince(time) <= Double(maximum) + Self.leeway
    }
}

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
    static func decide(provedAt credentialsVersion: Int64, now: AccountStanding?) -> SignInOutcome {
        guard let now else { return .gone }
        if now.state == .disabled { return .disabled }
        return now.credentialsVersion == credentialsVersion ? .stands : .moved
    }
}
