// Pure: no I/O, no clock.

package import Foundation

/// How recently a user must have authenticated for actions that a stolen access token must not allow: taking an account
/// over, deleting it, or reading all of its data.
package struct AuthenticationAge: Sendable, Equatable {
    /// Seconds.
    let maximum: Int

    init(maximum: Int) {
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
