import Foundation

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
