import Foundation

/// An e-mail address in the one form in which Gatehouse stores and compares it.
///
/// NFKC and lower case throughout: no current mail service distinguishes `Ada@` from `ada@`, and neither do users.
/// Quoted local parts, comments and address literals (RFC 5321 §4.1.2, §4.1.3) are refused; letters of every script are
/// allowed (RFC 6531).
struct EmailAddress: Hashable, Sendable, CustomStringConvertible {
    let value: String

    /// RFC 5321 §4.5.3.1 with erratum 1690, in UTF-8 bytes.
    static let maximumLength = 254
    /// In bytes before NFKC, which keeps at least a quarter of them.
    private static let bytesBefore = 4 * maximumLength

    init(_ text: String) throws(Refusal) {
        let trimmed = Text.trimmed(text)
        guard trimmed.utf8.count <= Self.bytesBefore else { throw Refusal("The e-mail address is too long.") }
        guard !trimmed.unicodeScalars.contains(where: Text.isInvisible) else {
            throw Refusal("The e-mail address contains invisible characters.")
        }
        let folded = trimmed.precomposedStringWithCompatibilityMapping.lowercased()
            .precomposedStringWithCompatibilityMapping
        guard folded.utf8.count <= Self.maximumLength else {
            throw Refusal("The e-mail address is too long.")
        }
        let parts = folded.split(separator: "@", omittingEmptySubsequences: false)
        guard parts.count == 2, Self.isLocalPart(parts[0]), Self.isDomain(parts[1]) else {
            throw Refusal("This is not an e-mail address.")
        }
        value = folded
    }

    var description: String { value }

    private static func isLocalPart(_ part: Substring) -> Bool {
        (1...64).contains(part.utf8.count)
            && part.split(separator: ".", omittingEmptySubsequences: false).allSatisfy { atom in
                !atom.isEmpty && atom.unicodeScalars.allSatisfy(isAtomText)
            }
    }

    private static func isAtomText(_ scalar: Unicode.Scalar) -> Bool {
        scalar.isASCII
            ? isLetterOrDigit(scalar) || "!#$%&'*+-/=?^_`{|}~".unicodeScalars.contains(scalar)
            : isLetterOrDigit(scalar) || isMark(scalar)
    }

    private static func isDomain(_ domain: Substring) -> Bool {
        let labels = domain.split(separator: ".", omittingEmptySubsequences: false)
        guard labels.count >= 2, let last = labels.last else { return false }
        return labels.allSatisfy(isLabel) && !last.unicodeScalars.allSatisfy { ("0"..."9").contains($0) }
    }

    private static func isLabel(_ label: Substring) -> Bool {
        (1...63).contains(label.utf8.count) && label.first != "-" && label.last != "-"
            && label.unicodeScalars.allSatisfy { $0 == "-" || isLetterOrDigit($0) || (!$0.isASCII && isMark($0)) }
    }

    private static func isLetterOrDigit(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter, .decimalNumber: true
        default: false
        }
    }

    private static func isMark(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .nonspacingMark, .spacingMark: true
        default: false
        }
    }
}

/// A telephone number in E.164: `+`, country code, subscriber number, at most 15 digits.
///
/// Accepted are the usual spellings: `+49 (0)171 123-45`, `0049 171 12345`, `tel:+49-171-12345`, and, where the team
/// has named its own country, `0171 12345`. Letters and extensions are refused.
struct PhoneNumber: Hashable, Sendable, CustomStringConvertible {
    let value: String

    /// In bytes, including separators between the digits.
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
        // "+49 (0)171": the trunk prefix, which is dialled only within the country.
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

/// The country whose national numbers are accepted without a country code.
struct PhoneRegion: Sendable, Equatable {
    /// The country's calling code, 1 to 3 digits (ITU-T E.164).
    let callingCode: String

    init(callingCode: String) throws(Refusal) {
        let digits = callingCode.hasPrefix("+") ? callingCode.dropFirst() : callingCode[...]
        guard (1...3).contains(digits.count), digits.first != "0", digits.allSatisfy({ ("0"..."9").contains($0) })
        else {
            throw Refusal("A calling code has 1 to 3 digits, for example 49.")
        }
        self.callingCode = String(digits)
    }

    /// The prefix dialled before a country code: 011 in North America, 00 nearly everywhere else.
    var internationalPrefix: String {
        callingCode == "1" ? "011" : "00"
    }

    /// The prefix dialled before a national number that is not part of the international one. In Italy and San Marino
    /// the 0 is part of it.
    private var trunkPrefix: String {
        switch callingCode {
        case "1": "1"
        case "7": "8"
        case "36": "06"
        case "39", "378", "379": ""
        default: "0"
        }
    }

    func international(_ national: String) -> String {
        let prefix = trunkPrefix
        let subscriber =
            !prefix.isEmpty && national.hasPrefix(prefix) ? national.dropFirst(prefix.count) : national[...]
        return callingCode + subscriber
    }
}

extension PhoneNumber {
    /// The key by which text messages are counted, so that an attacker cannot have many sent to expensive numbers of
    /// one country. It is the country's calling code. Calling code 1 includes islands with tariffs of their own, so the
    /// next three digits count as well.
    var destination: String {
        let digits = value.dropFirst()
        return String(digits.prefix(digits.first == "1" ? 4 : callingCode.count))
    }

    /// The country's calling code (ITU-T E.164, Annex A): 1 to 3 digits.
    var callingCode: String {
        let digits = value.dropFirst()
        if let first = digits.first, "17".contains(first) { return String(first) }
        let two = String(digits.prefix(2))
        return Self.twoDigits.contains(two) ? two : String(digits.prefix(3))
    }

    private static let twoDigits: Set<String> = [
        "20", "27", "30", "31", "32", "33", "34", "36", "39", "40", "41", "43", "44", "45", "46", "47", "48", "49",
        "51", "52", "53", "54", "55", "56", "57", "58", "60", "61", "62", "63", "64", "65", "66", "81", "82", "84",
        "86", "90", "91", "92", "93", "94", "95", "98",
    ]
}
