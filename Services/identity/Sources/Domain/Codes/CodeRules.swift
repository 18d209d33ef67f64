/// How long a code is valid, how often it may be tried, and when the next one may be asked for.
///
/// A code is tried against at most five times. Whoever knows the identifier alone has three of these: a stranger who
/// uses them up leaves two to the device that asked, which shows the name of its request.
enum CodeRules {
    /// Seconds.
    static let lifetime = 600
    static let tries = 5
    /// Of these, without the name of the request that asked.
    static let triesOfAnybody = 3
    /// Seconds for which it is remembered that a code was asked for.
    static let memory = 3600

    /// Seconds after which another code may be asked for: 30, doubled with each that was asked for within the hour, and
    /// at most the lifetime of one.
    /// - Parameter asked: how many were asked for within ``memory``, from the same network for the same identifier.
    static func delay(after asked: Int) -> Int {
        guard asked > 0 else { return 0 }
        return min(30 << min(asked - 1, 8), lifetime)
    }

    /// Seconds to wait before the next code may be asked for; `nil` where it may be now.
    /// - Parameter age: seconds since the last was asked for.
    static func wait(after asked: Int, lastOneOfAge age: Double) -> Int? {
        let left = Double(delay(after: asked)) - age
        return left > 0 ? Int(left.rounded(.up)) : nil
    }

    /// Whether a code that has been tried so often may be tried again.
    /// - Parameters:
    ///   - tries: all that there were.
    ///   - byAnybody: those of them without the name of the request.
    ///   - isBound: whether the name is shown now.
    static func mayTry(tries: Int, byAnybody: Int, isBound: Bool) -> Bool {
        tries < Self.tries && (isBound || byAnybody < triesOfAnybody)
    }
}
