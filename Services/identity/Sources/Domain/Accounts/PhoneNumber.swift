import Foundation

/// A telephone number in E.164: `+`, country code, subscriber number, at most 15 digits.
///
/// Read are the spellings people use: `+49 (0)171 123-45`, `0049 171 12345`, `tel:+49-171-12345`, and, where the team
/// has named its own country, `0171 12345`. Letters and extensions are refused.
struct PhoneNumber: Hashable, Sendable, CustomStringConvertible {
    let value: String

    /// In bytes, with whatever people write between the digits.
    private static let longestSpelling = 256

    init(_ text: String, home: PhoneRegion? = nil) throws(Refusal) {
        let trimmed = Text.trimmed(text)
        guard trimmed.utf8.count <= Self.longestSpelling else { throw Refusal("This is not a phone number.") }
        guard !trimmed.unicodeScalars.contains(where: Text.isInvisible) else {
            throw Refusal("The phone number contains invisible characters.")
        }
        let (digits, isInternational) = try Self.dialled(trimmed.precomposedStringWithCompatibilityMapping, home: home)
        let number: String
        if isInternational {
            number = digits
        } else if let home {
            number = home.international(digits)
        } else {
            throw Refusal("Please write the phone number with its country code, for example +49 171 1234567.")
        }
        guard (7...15).contains(number.count), number.first != "0" else {
            throw Refusal("This is not a phone number.")
        }
        value = "+" + number
    }

    var description: String { value }

    /// The digits without punctuation, and whether they begin with a country code.
    private static func dialled(_ text: String, home: PhoneRegion?) throws(Refusal) -> (String, Bool) {
        var rest = text[...]
        if rest.lowercased().hasPrefix("tel:") { rest = rest.dropFirst(4) }
        // "+49 (0)171": the trunk prefix, for readers at home.
        let withoutTrunk = rest.replacingOccurrences(of: "(0)", with: "")
        var digits = ""
        var hasPlus = false
        for character in withoutTrunk {
            if let digit = character.wholeNumberValue, (0...9).contains(digit), character.unicodeScalars.count == 1 {
                digits.append(String(digit))
            } else if character == "+", digits.isEmpty, !hasPlus {
                hasPlus = true
            } else if !isPunctuation(character) {
                throw Refusal("This is neither an e-mail address nor a phone number.")
            }
        }
        if hasPlus { return (digits, true) }
        for prefix in [home?.internationalPrefix, "00"].compactMap(\.self) where digits.hasPrefix(prefix) {
            return (String(digits.dropFirst(prefix.count)), true)
        }
        // Written without a country code, "(0)" is part of the number: "(0)171 …".
        return (rest.hasPrefix("(0)") ? "0" + digits : digits, false)
    }

    private static func isPunctuation(_ character: Character) -> Bool {
        " -./()\u{2010}\u{2011}\u{2012}\u{2013}\u{2014}\u{2015}\u{2212}".contains(character)
    }
}
