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
