import Foundation
import IdentityCore

/// How long a code is valid, how often it may be tried, and when the next one may be requested.
///
/// At most five tries are compared with a code. Two are reserved for the device that asked, which presents its
/// `codeRequest`. The other three are charged to the identifier's allowance, so an attacker can use them up.
enum CodeRules {
    /// Seconds.
    static let lifetime = 600
    static let tries = 5
    /// The tries that are charged to the identifier's allowance.
    static let chargedTries = 3
    /// The tries reserved for the request that asked. No allowance limits them.
    static let reservedTries = tries - chargedTries
    /// Seconds for which a request for a code is remembered.
    static let memory = 3600

    /// Seconds until another code may be requested: 30, doubled for each code requested within the hour, and at most a
    /// code's lifetime.
    /// - Parameter asked: the number of codes requested within ``memory``, from the same network for the same
    ///   identifier.
    static func delay(after asked: Int) -> Int {
        guard asked > 0 else { return 0 }
        return min(30 << min(asked - 1, 8), lifetime)
    }

    /// Seconds to wait before the next code may be requested; `nil` where it may be requested now.
    /// - Parameter age: seconds since the last request.
    static func wait(after asked: Int, lastOneOfAge age: Double) -> Int? {
        let left = Double(delay(after: asked)) - age
        return left > 0 ? Int(left.rounded(.up)) : nil
    }

    /// What a try is charged to.
    enum Payer: Sendable {
        /// The tries reserved for the request that asked.
        case request
        /// The identifier's allowance.
        case allowance
    }

    /// What the next try of a code is charged to; `nil` where no try is left.
    /// - Parameters:
    ///   - tries: all tries so far.
    ///   - charged: the tries among them that were charged to the identifier's allowance.
    ///   - isBound: whether the try presents the code's `codeRequest`.
    static func payer(tries: Int, charged: Int, isBound: Bool) -> Payer? {
        if isBound, tries - charged < reservedTries { return .request }
        return charged < chargedTries ? .allowance : nil
    }
}

/// Six digits that verify an identifier: its owner reads what is sent there.
struct OneTimeCode: Sendable, Equatable {
    let digits: String

    static let length = 6
    /// In bytes, including separators between the digits.
    private static let longestSpelling = 64

    /// One of a million, uniformly distributed, from the system's generator.
    init() {
        digits = String(format: "%06d", Int.random(in: 0..<1_000_000))
    }

    /// Reads what a person has typed or pasted. Spaces, hyphens and invisible marks between the digits are ignored.
    /// Digits of every script are accepted, because an Arabic keyboard, for example, types its own.
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
        scalar == "-" || scalar.properties.isWhitespace || Text.isMark(scalar)
    }
}
