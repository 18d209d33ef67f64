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
