/// A line of a list of breached passwords, as Have I Been Pwned gives them: a SHA-1 in hexadecimal, and perhaps after a
/// colon how often it was seen.
struct BreachedHashLine: Sendable, Equatable {
    /// 20 bytes.
    var hash: [UInt8]
    /// `nil` where the list does not say.
    var count: Int?

    /// - Parameter line: without its line feed; a carriage return at the end is overlooked.
    init?(_ line: UnsafeRawBufferPointer) {
        let rest = UnsafeRawBufferPointer(rebasing: line.last == UInt8(ascii: "\r") ? line.dropLast() : line[...])
        let digits = 2 * PasswordFilter.hashLength
        guard rest.count >= digits else { return nil }
        hash = []
        hash.reserveCapacity(PasswordFilter.hashLength)
        for index in stride(from: 0, to: digits, by: 2) {
            guard let high = Self.value(rest[index]), let low = Self.value(rest[index + 1]) else { return nil }
            hash.append(high << 4 | low)
        }
        guard rest.count > digits else { return }
        guard rest[digits] == UInt8(ascii: ":"),
            let text = String(validating: rest[(digits + 1)...], as: UTF8.self), let count = Int(text), count >= 0
        else { return nil }
        self.count = count
    }

    private static func value(_ digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        default: nil
        }
    }
}
