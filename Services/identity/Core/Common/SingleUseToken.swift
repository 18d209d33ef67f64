// Pure: no I/O, no clock.

import Bytes
import Crypto
import Foundation

/// A token in the link of a message: 256 random bits, of which only the digest is stored. A user who presents the token
/// has read a message to the identifier.
struct SingleUseToken: Sendable {
    /// What a token allows. Features declare theirs.
    struct Purpose: Sendable {
        /// Begins the token's text.
        let prefix: String
        /// Seconds.
        let lifetime: TimeInterval
    }

    let purpose: Purpose
    let text: String

    init(_ purpose: Purpose) {
        self.purpose = purpose
        text = purpose.prefix + Base64URL.string([UInt8].random(count: 32))
    }

    /// Seconds.
    var lifetime: TimeInterval { purpose.lifetime }

    var digest: [UInt8] { Self.digest(of: text) }

    /// - Parameter text: a token, or what a client sends as one. Where messages have no link, users copy the token.
    static func digest(of text: String) -> [UInt8] {
        Array(SHA256.hash(data: Data(Text.trimmedOfMarks(text).utf8)))
    }
}
