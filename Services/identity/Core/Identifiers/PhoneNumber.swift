// Pure: no I/O, no clock.

import Foundation

/// A telephone number in E.164: `+`, country code, subscriber number, at most 15 digits.
///
/// Accepted are the usual spellings: `+49 (0)171 123-45`, `+49 0171 12345`, `0049 171 12345`, `tel:+49-171-12345`, and,
/// where the team has named its own country, `0171 12345`. Letters and extensions are refused.
package struct PhoneNumber: Hashable, Sendable, CustomStringConvertible {
    let value: String

    /// In bytes, including separators between the digits.
    private static let longestSpelling = 256

    init(_ text: String, home: PhoneRegion? = nil) throws(Refusal) {
        let trimmed = Text.trimmedOfMarks(text)
        guard trimmed.utf8.count <= Self.longestSpelling else { throw Refusal("This is not a phone number.") }
        // Contacts surround the numbers that are copied from them, and parts of numbers, with directional marks.
        let visible = Text.withoutMarks(trimmed)
        guard !visible.unicodeScalars.contains(where: Text.isInvisible) else {
            throw Refusal("The phone number contains invisible characters.")
        }
        let number = try Self.international(visible.precomposedStringWithCompatibilityMapping, home: home)
        guard (7...15).contains(number.count), number.first != "0" else {
            throw Refusal("This is not a phone number.")
        }
        value = "+" + number
    }

    package var description: String { value }

    /// The country code and the subscriber number, without the prefix that is dialled only within the country.
    private static func international(_ text: String, home: PhoneRegion?) throws(Refusal) -> String {
        var rest = text[...]
        if rest.lowercased().hasPrefix("tel:") { rest = rest.dropFirst(4) }
        // "+49 (0)171": the national prefix, marked as what is left out elsewhere.
        let (written, unmarked) = (try digits(of: rest), try digits(of: rest.replacing("(0)", with: "")))
        if let digits = abroad(unmarked, home: home) {
            let retained = NationalPrefix.retainsZero(NationalPrefix.callingCode(of: digits))
            return NationalPrefix.removed(fromInternational: (retained ? abroad(written, home: home) : nil) ?? digits)
        }
        guard let home else {
            throw Refusal("Please write the phone number with its country code, for example +49 171 1234567.")
        }
        return home.international(written.digits)
    }

    /// The digits after `+`, `00` or the home country's international prefix; `nil` where none of them begins the
    /// number.
    private static func abroad(_ number: Digits, home: PhoneRegion?) -> String? {
        let digits = number.digits
        if number.hasPlus { return digits }
        for prefix in [home?.internationalPrefix, "00"].compactMap(\.self) where digits.hasPrefix(prefix) {
            return String(digits.dropFirst(prefix.count))
        }
        return nil
    }

    /// The digits without punctuation, and whether a plus sign begins them.
    private typealias Digits = (digits: String, hasPlus: Bool)

    private static func digits(of text: some StringProtocol) throws(Refusal) -> Digits {
        var digits = ""
        var hasPlus = false
        for character in text {
            if let digit = character.wholeNumberValue, (0...9).contains(digit), character.unicodeScalars.count == 1 {
                digits.append(String(digit))
            } else if character == "+", digits.isEmpty, !hasPlus {
                hasPlus = true
            } else if !isPunctuation(character) {
                throw Refusal("This is neither an e-mail address nor a phone number.")
            }
        }
        return (digits, hasPlus)
    }

    private static func isPunctuation(_ character: Character) -> Bool {
        " -./()\u{2010}\u{2011}\u{2012}\u{2013}\u{2014}\u{2015}\u{2212}".contains(character)
    }
}

/// The country whose national numbers are accepted without a country code.
package struct PhoneRegion: Sendable, Equatable {
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
    package var internationalPrefix: String {
        callingCode == "1" ? "011" : "00"
    }

    /// The international number of one that is dialled within the country.
    package func international(_ national: String) -> String {
        callingCode + NationalPrefix.removed(from: national, callingCode)
    }
}

/// National prefixes (ITU-T E.164 §A.4): what is dialled before a number within its country, and is no part of the
/// international number. Many people write it there too: `+61 0412 …`.
///
/// The facts are those of Google's libphonenumber, with which a test compares them.
package enum NationalPrefix {
    private struct Prefix {
        var digits: String
        /// Digits of a number with the prefix, where shorter numbers that begin with the same digits are whole.
        var length: Int?
    }

    /// The prefixes of a country; the longest first.
    private static func prefixes(of callingCode: String) -> [Prefix] {
        switch callingCode {
        case "1", "692": [Prefix(digits: "1")]
        // Russia and Kazakhstan: 812 is Saint Petersburg.
        case "7": [Prefix(digits: "8", length: 11)]
        case "36": [Prefix(digits: "06")]
        // Gabon: the numbers of eight digits from before 2019 retain their 0.
        case "241": [Prefix(digits: "0", length: 9)]
        // Rwanda: satellite telephones have numbers of eight digits that begin with 06.
        case "250": [Prefix(digits: "0", length: 10)]
        // Belarus: 8, a dialling tone, then 0.
        case "375": [Prefix(digits: "80", length: 11), Prefix(digits: "0", length: 10)]
        case "993": [Prefix(digits: "8", length: 9)]
        default: zero.contains(callingCode) ? [Prefix(digits: "0")] : []
        }
    }

    /// The calling codes whose national prefix is 0.
    private static let zero: Set<String> = [
        "20", "27", "31", "32", "33", "40", "41", "43", "44", "46", "49", "51", "53", "54", "55", "57",
        "58", "60", "61", "62", "63", "64", "66", "81", "82", "84", "86", "90", "91", "92", "93", "94",
        "95", "98", "211", "212", "213", "218", "231", "232", "233", "234", "243", "249", "251", "252",
        "254", "255", "256", "260", "261", "262", "263", "264", "265", "291", "353", "355", "358",
        "359", "370", "373", "374", "377", "380", "381", "382", "383", "385", "386", "387", "389",
        "421", "423", "508", "590", "591", "593", "594", "595", "596", "598", "686", "850", "855",
        "856", "880", "886", "961", "962", "963", "964", "966", "967", "970", "971", "972", "976",
        "977", "994", "995", "996",
    ]

    /// The calling codes whose numbers may begin with 0: Italy, San Marino, the Vatican, Ivory Coast, Burkina Faso,
    /// Benin, Gabon, Congo, Tajikistan. There "(0)" is a part of the number.
    static func retainsZero(_ callingCode: String) -> Bool {
        ["39", "225", "226", "229", "241", "242", "378", "379", "992"].contains(callingCode)
    }

    /// A number as it is dialled within the country, without the prefix.
    static func removed(from national: some StringProtocol, _ callingCode: String) -> String {
        removed(from: national, prefixes(of: callingCode))
    }

    /// A country code and the number after it, without a prefix in between. A 1 or 8 there may be a part of the
    /// number (`+7 812 …`). Only a prefix with a 0 cannot.
    package static func removed(fromInternational digits: String) -> String {
        let callingCode = callingCode(of: digits)
        let zeros = prefixes(of: callingCode).filter { $0.digits.hasPrefix("0") }
        return callingCode + removed(from: digits.dropFirst(callingCode.count), zeros)
    }

    /// Until none is left: what is stored is read again, and has to stay the same.
    private static func removed(from national: some StringProtocol, _ prefixes: [Prefix]) -> String {
        var rest = String(national)
        while let prefix = prefixes.first(where: {
            rest.hasPrefix($0.digits) && ($0.length == nil || $0.length == rest.count)
        }) {
            rest = String(rest.dropFirst(prefix.digits.count))
        }
        return rest
    }

    /// The calling code of an international number (ITU-T E.164, Annex A): 1 to 3 digits.
    static func callingCode(of digits: some StringProtocol) -> String {
        if let first = digits.first, "17".contains(first) { return String(first) }
        let two = String(digits.prefix(2))
        return twoDigits.contains(two) ? two : String(digits.prefix(3))
    }

    private static let twoDigits: Set<String> = [
        "20", "27", "30", "31", "32", "33", "34", "36", "39", "40", "41", "43", "44", "45", "46", "47", "48", "49",
        "51", "52", "53", "54", "55", "56", "57", "58", "60", "61", "62", "63", "64", "65", "66", "81", "82", "84",
        "86", "90", "91", "92", "93", "94", "95", "98",
    ]
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
    var callingCode: String { NationalPrefix.callingCode(of: value.dropFirst()) }
}
