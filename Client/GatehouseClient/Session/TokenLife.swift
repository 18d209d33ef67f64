import Foundation

/// How long an access token is good for, by this process' monotonic clock: what the device shows may be wrong by days
/// and may jump.
struct TokenLife: Sendable, Equatable {
    /// A new token is asked for this long before the end: a fifth of the life, five minutes at most.
    static func margin(of lifetime: Duration) -> Duration { min(.seconds(300), lifetime / 5) }

    /// From here on a new one is asked for, while this one still serves.
    let renewal: Duration
    let end: Duration

    /// - Parameters:
    ///   - lifetime: as the server said.
    ///   - sentAt: when the request was sent that brought the token. The token was made after it, so that what is
    ///     reckoned here ends no later than what the server reckons.
    init(lifetime: Duration, sentAt: Duration) {
        end = sentAt + lifetime
        renewal = end - Self.margin(of: lifetime)
    }

    /// Of a token that an earlier process has stored. Of its age only the device's clock tells, and that may be wrong:
    /// then a token is renewed that need not be, or one is shown that the server refuses, and is renewed after that.
    init(stored: StoredSession, wall: Date, monotonic: Duration) {
        let lifetime = Duration.seconds(stored.accessLifetime)
        let serverNow = wall.addingTimeInterval(stored.clockOffset)
        let left = stored.accessExpiresAt.timeIntervalSince(serverNow)
        let sane = min(max(left, 0), Double(stored.accessLifetime))
        end = monotonic + .seconds(sane)
        renewal = end - Self.margin(of: lifetime)
    }

    func isOver(at monotonic: Duration) -> Bool { monotonic >= end }

    func isDue(at monotonic: Duration) -> Bool { monotonic >= renewal }
}
