import Bytes
import Crypto
import Foundation

/// SHA-256 in lower-case hexadecimal.
func sha256Hex(_ text: String) -> String {
    Hexadecimal.string(Array(SHA256.hash(data: Data(text.utf8))))
}
