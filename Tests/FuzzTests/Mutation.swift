/// Changes JSON so that most results are still JSON, which only lets the rules behind the decoder see them.
enum Mutation {
    /// Values at the ends of what types, calendars and grammars hold. Each is the text of a JSON value.
    static let values: [String] =
        times.map { "\"\($0)\"" } + times.map { "\"\($0)Z\"" }
        + [
            "0", "-0", "1", "-1", "127", "128", "32767", "32768", "-32769", "65536", "2147483647", "2147483648",
            "-2147483649", "4294967296", "253402300800", "9223372036854775807", "9223372036854775808",
            "-9223372036854775808", "-9223372036854775809", "18446744073709551616", "9e18", "-9e18", "1e308", "-1e308",
            "5e-324", "1e400", "0.1", "1e-400", "null", "true", "false", "[]", "{}", "[[]]", "\"\"", "\" \"",
            "\"\u{FEFF}\"", #""\u0000""#, #""\ud800""#, #""\uD83D\uDE00""#, "\"\u{10FFFF}\"", "\"e\u{301}\u{301}\"",
            "\"\u{0665}\u{0665}\u{0665}\u{0665}\u{0665}\u{0665}\"", "\"999999999999999999999\"", "\"-1\"", "\"+\"",
            "\"24:00\"", "\"00:00\"", "\"-1:00\"", "\"23:60\"", "\"GMT+1800\"", "\"GMT-1200\"", "\"Etc/GMT+12\"",
            "\"Pacific/Kiritimati\"", "\"1.999999999999999999\"", "\"9223372036854775807.0\"", "\".\"", "\"$\"",
            "\"@\"",
            "\"a@b\"", "\"+999999999999999\"", "\"00\"", "\"x-a\"", "\"00000000-0000-0000-0000-000000000000\"",
            "\"\(String(repeating: "a", count: 3000))\"", "\"\(String(repeating: "9", count: 300))\"",
        ]

    private static let times = [
        "0000-01-01T00:00:00", "0001-01-01T00:00:00", "0000-12-31T23:59:59", "-0001-01-01T00:00:00",
        "1582-10-10T00:00:00", "1969-12-31T23:59:59", "1970-01-01T00:00:00", "1970-01-01T12:00:00",
        "9999-12-31T23:59:59", "9999-12-31T23:59:60", "10000-01-01T00:00:00", "294276-12-31T23:59:59",
        "294277-01-10T04:00:54", "+999999999-01-01T00:00:00", "99999999999999999999-01-01T00:00:00",
        "2027-02-30T08:00:00", "2027-00-00T00:00:00", "2027-99-99T99:99:99", "2027-01-15T24:00:00",
        "1970-01-01T00:00:00+23:59", "1970-01-01T00:00:00-23:59",
    ]

    /// Each result of replacing one value of a text by one of ``values``.
    static func replacements(in text: [UInt8]) -> some Sequence<[UInt8]> {
        scalars(of: text).lazy.flatMap { range in
            values.lazy.map { value in
                var result = text
                result.replaceSubrange(range, with: value.utf8)
                return result
            }
        }
    }

    /// One to four changes at once.
    static func random(_ text: [UInt8], using generator: inout SplitMix64) -> [UInt8] {
        var text = text
        for _ in 0...Int.random(in: 0..<4, using: &generator) { change(&text, using: &generator) }
        return text
    }

    private static func change(_ text: inout [UInt8], using generator: inout SplitMix64) {
        let scalars = scalars(of: text)
        guard !text.isEmpty, let range = scalars.randomElement(using: &generator) else { return }
        switch Int.random(in: 0..<8, using: &generator) {
        case 0...3:
            text.replaceSubrange(range, with: (values.randomElement(using: &generator) ?? "null").utf8)
        case 4:
            // A value in another's place.
            let other = scalars.randomElement(using: &generator) ?? range
            text.replaceSubrange(range, with: Array(text[other]))
        case 5:
            // A byte within a value.
            let index = Int.random(in: range, using: &generator)
            text[index] = UInt8.random(in: 0x20...0x7E, using: &generator)
        case 6:
            // A value many times, in a list or beside others.
            let value = Array(text[range])
            let copies = Array(repeating: value, count: Int.random(in: 2...64, using: &generator))
            text.replaceSubrange(range, with: Array(copies.joined(separator: [UInt8(ascii: ",")])))
        default:
            text[Int.random(in: text.indices, using: &generator)] = UInt8.random(in: .min ... .max, using: &generator)
        }
    }

    /// The places of the strings, numbers and words of a text that is about JSON. Names of members are among them.
    private static func scalars(of text: [UInt8]) -> [Range<Int>] {
        var ranges: [Range<Int>] = []
        var index = 0
        while index < text.count {
            let start = index
            index += 1
            switch text[start] {
            case UInt8(ascii: "\""):
                while index < text.count, text[index] != UInt8(ascii: "\"") {
                    index += text[index] == UInt8(ascii: "\\") ? 2 : 1
                }
                index = min(index + 1, text.count)
                ranges.append(start..<index)
            case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"):
                while index < text.count, !",:[]{}\" ".utf8.contains(text[index]) { index += 1 }
                ranges.append(start..<index)
            default: continue
            }
        }
        return ranges
    }
}

/// A generator of random numbers whose results depend on its seed alone (Steele, Lea, Flood 2014).
struct SplitMix64: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var number = state
        number = (number ^ (number >> 30)) &* 0xBF58_476D_1CE4_E5B9
        number = (number ^ (number >> 27)) &* 0x94D0_49BB_1331_11EB
        return number ^ (number >> 31)
    }
}
