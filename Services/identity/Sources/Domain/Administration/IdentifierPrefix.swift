import Foundation

/// What identifiers begin with that an operator looks for, in the form in which identifiers are kept.
struct IdentifierPrefix: Sendable, Equatable {
    let value: String

    /// - Parameters:
    ///   - text: the beginning of an e-mail address, or of a phone number in any usual spelling. What has no country
    ///     code yet (`+`, `00`, or a national number where the team has named its country) is no phone number.
    ///   - home: the country whose national phone numbers are understood.
    init(_ text: String, home: PhoneRegion? = nil) throws(Refusal) {
        let trimmed = Text.trimmed(text)
        guard !trimmed.isEmpty else { throw Refusal("This is empty.") }
        guard trimmed.utf8.count <= 2 * EmailAddress.maximumLength else { throw Refusal("This is too long.") }
        guard !trimmed.unicodeScalars.contains(where: Text.isInvisible) else {
            throw Refusal("This contains invisible characters.")
        }
        let folded = trimmed.precomposedStringWithCompatibilityMapping.lowercased()
            .precomposedStringWithCompatibilityMapping
        value = Self.phone(folded, home: home) ?? folded
    }

    /// Above every identifier that begins with the prefix, by the order of bytes. No identifier holds the last code point
    /// of Unicode.
    var end: String { value + "\u{10FFFF}" }

    private static func phone(_ text: String, home: PhoneRegion?) -> String? {
        var digits = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "0"..."9": digits.unicodeScalars.append(scalar)
            case "+" where digits.isEmpty: digits = "+"
            case " ", "-", ".", "/", "(", ")": continue
            default: return nil
            }
        }
        if digits.hasPrefix("+") { return digits }
        for prefix in [home?.internationalPrefix, "00"].compactMap(\.self) where digits.hasPrefix(prefix) {
            return "+" + digits.dropFirst(prefix.count)
        }
        guard let home, digits.hasPrefix("0") else { return nil }
        return "+" + home.international(digits)
    }
}
