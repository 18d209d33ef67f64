import Bytes
import Foundation

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

/// Six digits that prove who reads what is sent to an identifier.
struct OneTimeCode: Sendable, Equatable {
    let digits: String

    static let length = 6
    /// In bytes, with whatever people write between the digits.
    private static let longestSpelling = 64

    /// One of the million, each as likely as any other, from the system's generator.
    init() {
        digits = String(format: "%06d", Int.random(in: 0..<1_000_000))
    }

    /// Reads what a person has typed: spaces and hyphens between the digits are ignored, and digits of every script are
    /// read, since an Arabic keyboard writes its own.
    init(_ text: String) throws(Refusal) {
        let refusal = Refusal("A code has six digits.")
        guard text.utf8.count <= Self.longestSpelling else { throw refusal }
        var digits = ""
        for scalar in text.unicodeScalars where !Self.isIgnored(scalar) {
            guard scalar.properties.generalCategory == .decimalNumber, let value = scalar.properties.numericValue else {
                throw refusal
            }
            digits += String(Int(value))
        }
        guard digits.utf8.count == Self.length else { throw refusal }
        self.digits = digits
    }

    private static func isIgnored(_ scalar: Unicode.Scalar) -> Bool {
        scalar == "-" || scalar.properties.isWhitespace || scalar.properties.isBidiControl
    }
}

/// What the link in a message carries: 256 random bits. It works beside the name of the request that asked, which only
/// that device has.
struct LinkToken: Sendable {
    let text: String

    init() {
        text = "ghlt_" + Base64URL.string([UInt8].random(count: 32))
    }
}
