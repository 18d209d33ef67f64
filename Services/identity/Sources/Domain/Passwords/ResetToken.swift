import Bytes
import Crypto
import Foundation

/// A token for setting a new password: 256 random bits, of which the hash is kept. Whoever has it reads what is sent to
/// the identifier.
struct ResetToken: Sendable {
    let text: String
    var digest: [UInt8] { Self.digest(text) }

    /// Seconds.
    static let lifetime: TimeInterval = 1800

    init() {
        text = "ghpr_" + Base64URL.string([UInt8].random(count: 32))
    }

    static func digest(_ text: String) -> [UInt8] {
        Array(SHA256.hash(data: Data(text.utf8)))
    }
}
