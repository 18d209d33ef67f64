import Crypto
import Foundation

extension [UInt8] {
    /// Bytes from the system's secure source.
    static func random(count: Int) -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        return (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
    }
}

/// SHA-256 in lower-case hexadecimal.
func sha256Hex(_ text: String) -> String {
    SHA256.hash(data: Data(text.utf8)).map { byte in
        let digits = String(byte, radix: 16)
        return digits.count == 1 ? "0" + digits : digits
    }.joined()
}
