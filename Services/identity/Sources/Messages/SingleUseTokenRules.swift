import Bytes
import Crypto
import Foundation

/// A token in the link of a message: 256 random bits, of which only the digest is stored. A user who presents the token
/// has read a message to the identifier.
struct SingleUseToken: Sendable {
    /// What a token allows. The raw value begins its text.
    enum Purpose: String, Sendable {
        /// Setting a new password.
        case passwordReset = "ghpr_"
        /// Undoing a change of an identifier.
        case identifierUndo = "ghiu_"
        /// The same as the digits of a one-time code. The token is valid only with the id of the request that asked, or
        /// of one that was answered without a message for the same identifier and purpose. So its HMAC with that id is
        /// stored (``CodeKeys``), instead of the digest.
        case code = "ghlt_"

        /// Seconds.
        var lifetime: TimeInterval {
            switch self {
            case .passwordReset: 1800
            case .identifierUndo: 3 * 86_400
            case .code: TimeInterval(CodeRules.lifetime)
            }
        }
    }

    let purpose: Purpose
    let text: String

    init(_ purpose: Purpose) {
        self.purpose = purpose
        text = purpose.rawValue + Base64URL.string([UInt8].random(count: 32))
    }

    /// Seconds.
    var lifetime: TimeInterval { purpose.lifetime }

    var digest: [UInt8] { Self.digest(of: text) }

    /// - Parameter text: a token, or what a client sends as one. Where messages have no link, users copy the token.
    static func digest(of text: String) -> [UInt8] {
        Array(SHA256.hash(data: Data(Text.trimmedOfMarks(text).utf8)))
    }
}
