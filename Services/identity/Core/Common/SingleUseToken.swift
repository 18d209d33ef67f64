// Pure: no I/O, no clock.

import Crypto
package import Foundation
import GatehouseBytes

/// A token in the link of a message: 256 random bits, of which only the digest is stored. A user who presents the token
/// has read a message to the identifier.
package struct SingleUseToken: Sendable {
    /// What a token allows. Features declare theirs.
    package struct Purpose: Sendable {
        /// Begins the token's text.
        let prefix: String
        /// Seconds.
        package let lifetime: TimeInterval

        package init(prefix: String, lifetime: TimeInterval) {
            self.prefix = prefix
            self.lifetime = lifetime
        }
    }

    let purpose: Purpose
    package let text: String

    package init(_ purpose: Purpose) {
        self.purpose = purpose
        text = purpose.prefix + Base64URL.string([UInt8].random(count: 32))
    }

    /// Seconds.
    package var lifetime: TimeInterval { purpose.lifetime }

    package var digest: [UInt8] { Self.digest(of: text) }

    /// - Parameter text: a token, or what a client sends as one. Where messages have no link, users copy the token.
    package static func digest(of text: String) -> [UInt8] {
        Array(SHA256.hash(data: Data(Text.trimmedOfMarks(text).utf8)))
    }
}
