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

/// The country whose national numbers are understood without a country code.
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

    /// What is dialled before a country code: 011 in North America, 00 nearly everywhere else.
    var internationalPrefix: String {
        callingCode == "1" ? "011" : "00"
    }

    /// What is dialled before a national number and is no part of it. Italy and San Marino keep their 0.
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
