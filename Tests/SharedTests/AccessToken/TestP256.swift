import Crypto
import Foundation
import GatehouseBytes

@testable import GatehouseAccessTokens

/// One key on P-256 for the whole run.
enum TestP256 {
    static let signing = P256.Signing.PrivateKey()

    static func publicKey(_ key: P256.Signing.PrivateKey = signing) throws -> P256PublicKey {
        let point = Array(key.publicKey.rawRepresentation)
        return try P256PublicKey(x: Array(point[..<32]), y: Array(point[32...]))
    }

    /// `input`, a dot, and the key's signature over `input` as JOSE has it.
    static func signed(_ input: String, key: P256.Signing.PrivateKey = signing) throws -> String {
        input + "." + Base64URL.string(Array(try key.signature(for: Data(input.utf8)).rawRepresentation))
    }

    static func token(_ header: String, _ claims: String, key: P256.Signing.PrivateKey = signing) throws -> String {
        try signed(Base64URL.string(header.utf8) + "." + Base64URL.string(claims.utf8), key: key)
    }
}
