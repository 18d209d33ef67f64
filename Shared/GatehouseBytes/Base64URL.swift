/// base64url without padding (RFC 7515 §2), in its one canonical spelling.
///
/// Foundation's decoder accepts padding, `+/` and trailing bits that are not zero. So one value has many spellings, and
/// an attacker could bypass a deny list of texts.
public enum Base64URL {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
    /// Marks bytes that are not symbols. No value has this bit.
    private static let invalid: UInt8 = 0x80
    private static let values: [UInt8] = {
        var values = [UInt8](repeating: invalid, count: 256)
        for (value, symbol) in alphabet.enumerated() { values[Int(symbol)] = UInt8(value) }
        return values
    }()

    /// Decodes `text`; `nil` unless `text` is exactly what `encode` would write for the result.
    public static func decode(_ text: ArraySlice<UInt8>) -> [UInt8]? {
        guard text.count % 4 != 1 else { return nil }
        var isCanonical = true
        let bytes = [UInt8](unsafeUninitializedCapacity: text.count * 3 / 4) { bytes, count in
            values.withUnsafeBufferPointer { values in
                var accumulator: UInt32 = 0
                var pending: UInt32 = 0
                var seen: UInt8 = 0
                text.withUnsafeBufferPointer { text in
                    for symbol in text {
                        let value = values[Int(symbol)]
                        seen |= value
                        accumulator = accumulator &<< 6 | UInt32(value)
                        pending &+= 6
                        if pending >= 8 {
                            pending &-= 8
                            bytes[count] = UInt8(truncatingIfNeeded: accumulator &>> pending)
                            count &+= 1
                        }
                    }
                }
                // The unused bits of the last symbol must be zero. Otherwise several texts would stand for the same
                // bytes.
                isCanonical = seen & invalid == 0 && accumulator & (1 &<< pending &- 1) == 0
            }
        }
        return isCanonical ? bytes : nil
    }

    /// Decodes `text`; `nil` unless `text` is exactly what ``string(_:)`` would write for the result.
    public static func decode(_ text: some StringProtocol) -> [UInt8]? {
        decode(Array(text.utf8)[...])
    }

    /// Encodes `bytes`; returns the text as bytes.
    public static func encode(_ bytes: [UInt8]) -> [UInt8] {
        let length = (bytes.count * 4 + 2) / 3
        return [UInt8](unsafeUninitializedCapacity: length) { text, count in
            alphabet.withUnsafeBufferPointer { alphabet in
                var accumulator: UInt32 = 0
                var pending: UInt32 = 0
                for byte in bytes {
                    accumulator = accumulator &<< 8 | UInt32(byte)
                    pending &+= 8
                    while pending >= 6 {
                        pending &-= 6
                        text[count] = alphabet[Int(accumulator &>> pending & 63)]
                        count &+= 1
                    }
                }
                if pending > 0 {
                    text[count] = alphabet[Int(accumulator &<< (6 &- pending) & 63)]
                    count &+= 1
                }
            }
        }
    }

    /// Encodes `bytes`.
    public static func string(_ bytes: some Sequence<UInt8>) -> String {
        String(decoding: encode(Array(bytes)), as: UTF8.self)
    }
}

/// Hexadecimal digits (RFC 4648 §8).
public enum Hexadecimal {
    private static let digits = Array("0123456789abcdef".utf8)

    /// The value of a digit of either case.
    @inlinable
    public static func value(_ digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
        default: nil
        }
    }

    /// The bytes of two digits each; `nil` where the text is anything else.
    public static func decode(_ text: some StringProtocol) -> [UInt8]? {
        let digits = text.utf8.compactMap(value)
        guard digits.count == text.utf8.count, digits.count.isMultiple(of: 2) else { return nil }
        return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    }

    /// Two lower-case digits for each byte.
    public static func string(_ bytes: some Collection<UInt8>) -> String {
        String(unsafeUninitializedCapacity: bytes.count * 2) { buffer in
            var count = 0
            for byte in bytes {
                buffer[count] = digits[Int(byte >> 4)]
                buffer[count + 1] = digits[Int(byte & 0xF)]
                count += 2
            }
            return count
        }
    }

    /// The 16 lower-case digits of a number.
    public static func string(_ number: UInt64) -> String {
        withUnsafeBytes(of: number.bigEndian) { string($0) }
    }
}
