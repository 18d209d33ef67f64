import Bytes
import Crypto
import Foundation
import Sealing

/// What is kept in place of identifiers, codes and link tokens: HMACs under a key that is not in the database. There are
/// so few codes and phone numbers that a plain hash would hide none.
struct CodeKeys: Sendable {
    private let keys: KeyRing

    /// - Parameter keys: those of the passwords' pepper. When one is taken out of its file, the codes that were sent
    ///   under it are no longer valid.
    init(_ keys: KeyRing) {
        self.keys = keys.derived(for: "gatehouse identity codes")
    }

    /// A value's digests: under the key for what is new, and under each.
    struct Digests: Sendable {
        var current: String
        var all: [String]
    }

    func subject(_ identifier: Identifier) -> Digests {
        digests("subject", identifier.kind.rawValue, identifier.value)
    }

    /// A code is bound to what it was sent to and what it was sent for.
    func code(_ code: OneTimeCode, to identifier: Identifier, for purpose: String) -> Digests {
        digests("code", identifier.kind.rawValue, identifier.value, purpose, code.digits)
    }

    func link(_ token: String, of request: UUID) -> Digests {
        digests("link", request.uuidString, token)
    }

    /// Who asks: a device that is known, or else a network.
    func asker(_ address: String, _ knownDevice: [String]?) -> Digests {
        if let knownDevice { return digests("device", knownDevice.joined(separator: "\0")) }
        return digests("network", ClientNetwork.site(of: address))
    }

    /// No part holds a NUL, so that two lists of parts never make the same text.
    private func digests(_ parts: String...) -> Digests {
        let text = Data(parts.joined(separator: "\0").utf8)
        func digest(_ key: SymmetricKey) -> String {
            Base64URL.string(HMAC<SHA256>.authenticationCode(for: text, using: key))
        }
        return Digests(current: digest(keys.current.secret), all: keys.all.map(digest))
    }
}
