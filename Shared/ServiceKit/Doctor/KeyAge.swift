public import Foundation

/// What the age of a key means: nothing breaks with age, and who has seen the key can use it for as long as it is in use.
public enum KeyAge {
    /// Seconds after which a key is due for replacement: a year.
    public static let due: TimeInterval = 365 * 86_400

    /// - Parameters:
    ///   - what: the keys, as the sentence begins.
    ///   - age: seconds.
    ///   - verb: what happened that long ago, as in "were last changed".
    ///   - remedy: how they are replaced.
    public static func finding(_ what: String, age: TimeInterval, verb: String, remedy: String) -> Finding {
        let text = "\(what) \(verb) \(days(age)) ago"
        guard age >= due else { return .fine("\(text).") }
        return .warning("\(text): that is more than a year.", remedy: remedy)
    }

    /// As in "2 days"; hours below two days.
    public static func days(_ age: TimeInterval) -> String {
        let hours = max(0, Int(age / 3600))
        if hours < 1 { return "less than an hour" }
        if hours < 48 { return hours == 1 ? "an hour" : "\(hours) hours" }
        return "\(hours / 24) days"
    }
}
