import Crypto
import Foundation

/// A nonce that serves once, and the identity token that carries it, as their SHA-256.
struct NonceUse: Sendable {
    let nonce: [UInt8]
    let token: [UInt8]
    /// Seconds since 1970; from then on the nonce or its token has expired.
    let expiresAt: Int64

    init(of nonce: String, with identityToken: String, expiresAt: Int64) {
        self.nonce = Array(SHA256.hash(data: Data(nonce.utf8)))
        self.token = Array(SHA256.hash(data: Data(identityToken.utf8)))
        self.expiresAt = expiresAt
    }
}
