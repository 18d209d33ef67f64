/// How long a code is valid, how often it may be tried, and when the next one may be asked for.
///
/// At most five tries are compared with a code. Two are reserved for the device that asked, which shows its
/// `codeRequest`. The other three are charged to the identifier's allowance, so an attacker can use them up.
enum CodeRules {
    /// Seconds.
    static let lifetime = 600
    static let tries = 5
    /// Of these, the ones that are charged to the identifier's allowance.
    static let triesOfAnybody = 3
    /// Of these, the ones of the request that asked. No allowance limits them.
    static let triesOfRequest = tries - triesOfAnybody
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

    /// What a try is charged to.
    enum Payer: Sendable {
        /// The tries reserved for the request that asked.
        case request
        /// The identifier's allowance.
        case anybody
    }

    /// What the next try of a code is charged to; `nil` where the code may not be tried any more.
    /// - Parameters:
    ///   - tries: all that there were.
    ///   - byAnybody: those of them that were charged to the identifier's allowance.
    ///   - isBound: whether the try shows the `codeRequest` of the code.
    static func payer(tries: Int, byAnybody: Int, isBound: Bool) -> Payer? {
        if isBound, tries - byAnybody < triesOfRequest { return .request }
        return byAnybody < triesOfAnybody ? .anybody : nil
    }
}
