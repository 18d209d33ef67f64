/// A calendar time in UTC, to the second, and its text forms. Foundation's formatters cost more than writing a log
/// line.
public struct UTCTime: Sendable, Equatable {
    public let year: Int64
    /// 1 to 12.
    public let month: Int64
    /// 1 to 31.
    public let day: Int64
    /// 0 to 6, from Sunday.
    public let weekday: Int64
    public let hour: Int64
    public let minute: Int64
    public let second: Int64

    /// The seconds since 1970 of the years 1970 to 9999.
    ///
    /// No other time is accepted from outside, in JSON, a query, a token or the answer of a peer: the text forms have
    /// four digits for a year, and PostgreSQL's times end earlier than Foundation's.
    public static let accepted: ClosedRange<Int64> = 0...253_402_300_799

    /// The seconds since 1970 of the years 0 to 9999, which the text forms can express.
    private static let expressible: ClosedRange<Int64> = -62_167_219_200...accepted.upperBound

    /// - Parameter secondsSince1970: an earlier time than the year 0 becomes its beginning, and a later one than the
    ///   year 9999 its end.
    public init(secondsSince1970: Int64) {
        let seconds = min(max(secondsSince1970, Self.expressible.lowerBound), Self.expressible.upperBound)
        let days = Self.divide(seconds, by: 86_400)
        (hour, minute, second) = (days.rest / 3600, days.rest / 60 % 60, days.rest % 60)
        // 1 January 1970 was a Thursday.
        weekday = Self.divide(days.quotient + 4, by: 7).rest
        // The Gregorian calendar repeats itself every 400 years. Counted from 1 March, the day of a leap year comes
        // last.
        let eras = Self.divide(days.quotient + 719_468, by: 146_097)
        let day = eras.rest
        let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365
        let dayOfYear = day - (365 * year + year / 4 - year / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        self.day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
        self.year = year + eras.quotient * 400 + (month <= 2 ? 1 : 0)
    }

    /// As in `2026-11-20T12:00:00Z` (RFC 3339).
    public var rfc3339: String {
        Self.text(length: 20) { digits in
            writeRFC3339(to: &digits)
            digits.add("Z")
        }
    }

    /// As in `2026-11-20T12:00:00.000042Z`.
    ///
    /// - Parameter microseconds: of the second. A number outside 0 to 999,999 becomes the nearest of these.
    public func rfc3339(microseconds: Int64) -> String {
        Self.text(length: 27) { digits in
            writeRFC3339(to: &digits)
            digits.add(".")
            digits.add(min(max(microseconds, 0), 999_999), 6)
            digits.add("Z")
        }
    }

    /// As HTTP writes dates: `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110 §5.6.7).
    public var imfFixdate: String {
        Self.text(length: 29) { digits in
            digits.add(Self.weekdays[Int(weekday)])
            digits.add(", ")
            digits.add(day, 2)
            digits.add(Self.months[Int(month) - 1])
            digits.add(year, 4)
            digits.add(" ")
            writeTime(to: &digits)
            digits.add(" GMT")
        }
    }

    private static let weekdays: [StaticString] = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    private static let months: [StaticString] = [
        " Jan ", " Feb ", " Mar ", " Apr ", " May ", " Jun ", " Jul ", " Aug ", " Sep ", " Oct ", " Nov ", " Dec ",
    ]

    private func writeRFC3339(to digits: inout DigitWriter) {
        digits.add(year, 4)
        digits.add("-")
        digits.add(month, 2)
        digits.add("-")
        digits.add(day, 2)
        digits.add("T")
        writeTime(to: &digits)
    }

    private func writeTime(to digits: inout DigitWriter) {
        digits.add(hour, 2)
        digits.add(":")
        digits.add(minute, 2)
        digits.add(":")
        digits.add(second, 2)
    }

    private static func text(length: Int, _ write: (inout DigitWriter) -> Void) -> String {
        String(unsafeUninitializedCapacity: length) { buffer in
            var writer = DigitWriter(buffer: buffer)
            write(&writer)
            return writer.count
        }
    }

    /// Rounds down, also below zero.
    private static func divide(_ number: Int64, by divisor: Int64) -> (quotient: Int64, rest: Int64) {
        let (quotient, rest) = number.quotientAndRemainder(dividingBy: divisor)
        return rest < 0 ? (quotient - 1, rest + divisor) : (quotient, rest)
    }
}

/// Writes numbers with leading zeros into a string's storage.
private struct DigitWriter {
    let buffer: UnsafeMutableBufferPointer<UInt8>
    private(set) var count = 0

    init(buffer: UnsafeMutableBufferPointer<UInt8>) {
        self.buffer = buffer
    }

    mutating func add(_ text: StaticString) {
        for index in 0..<text.utf8CodeUnitCount { buffer[count + index] = text.utf8Start[index] }
        count += text.utf8CodeUnitCount
    }

    /// Writes the last `width` digits of a number, without its sign.
    mutating func add(_ number: Int64, _ width: Int) {
        var number = number.magnitude
        for index in (count..<count + width).reversed() {
            buffer[index] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: number % 10)
            number /= 10
        }
        count += width
    }
}
