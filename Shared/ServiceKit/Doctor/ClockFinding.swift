public import Foundation

/// What a difference between two clocks means. Windows of refreshes and the times in tokens come from PostgreSQL's clock,
/// and each gateway judges by its own whether a token has expired.
public enum ClockFinding {
    /// Seconds; a gateway refuses fresh tokens, or takes expired ones, for as long as clocks differ.
    static let noticeable: TimeInterval = 2
    static let harmful: TimeInterval = 30

    /// - Parameters:
    ///   - whose: as in "PostgreSQL".
    ///   - ahead: seconds by which that clock is ahead of this machine's.
    /// - Returns: `nil` where they agree.
    public static func finding(_ whose: String, ahead: TimeInterval) -> Finding? {
        guard abs(ahead) >= noticeable else { return nil }
        let text = "\(whose)'s clock is \(seconds(abs(ahead))) \(ahead > 0 ? "ahead of" : "behind") this machine's."
        let remedy = "Let both machines keep their time by NTP (`timedatectl status`, `chronyc tracking`)."
        return abs(ahead) >= harmful ? .problem(text, remedy: remedy) : .warning(text, remedy: remedy)
    }

    /// The time that a `Date` field says (RFC 9110 §5.6.7, the form that is sent).
    static func date(_ field: String) -> Date? {
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = TimeZone(identifier: "GMT")
        formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss zzz"
        return formatter.date(from: field)
    }

    private static func seconds(_ value: TimeInterval) -> String {
        value < 120 ? "\(Int(value.rounded())) s" : "\(Int((value / 60).rounded())) min"
    }
}
