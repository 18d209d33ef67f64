import Bytes
import COpenSSL

/// An RSA public key that is strong enough to trust: 2,048 to 8,192 bits, an odd exponent from 65,537.
public struct RSAPublicKey: Sendable, Equatable {
    /// Big-endian, without leading zeros.
    let modulus: [UInt8]
    /// Big-endian, without leading zeros.
    let exponent: [UInt8]
    /// The key's SHA-256 thumbprint (RFC 7638) in base64url: Gatehouse's `kid`.
    public let thumbprint: String

    init(modulus: [UInt8], exponent: [UInt8]) throws(AccessTokenError) {
        let bits = modulus.count * 8 - (modulus.first?.leadingZeroBitCount ?? 0)
        guard (2048...8192).contains(bits), modulus.first != 0 else {
            throw AccessTokenError(.weakKey, "An RSA key must have 2048 to 8192 bits.")
        }
        guard modulus.last.map({ $0 & 1 }) == 1 else {
            throw AccessTokenError(.weakKey, "The RSA key's modulus is even: it is no product of two large primes.")
        }
        // OpenSSL takes no larger exponents either.
        guard (1...8).contains(exponent.count), exponent.first != 0 else {
            throw AccessTokenError(.weakKey, "The RSA key's exponent is out of range.")
        }
        let value = exponent.reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        guard value >= 65_537, value & 1 == 1 else {
            throw AccessTokenError(.weakKey, "The RSA key's exponent is not an odd number from 65537.")
        }
        self.modulus = modulus
        self.exponent = exponent
        self.thumbprint = Self.thumbprint(modulus: modulus, exponent: exponent)
    }

    init(_ key: EVPKey) throws(AccessTokenError) {
        guard key.isRSA else { throw AccessTokenError(.unreadableKey, "The key is not an RSA key.") }
        try self.init(modulus: key.number(OSSL_PKEY_PARAM_RSA_N), exponent: key.number(OSSL_PKEY_PARAM_RSA_E))
    }

    /// The members in alphabetical order without white space, as RFC 7638 §3 has it.
    private static func thumbprint(modulus: [UInt8], exponent: [UInt8]) -> String {
        var writer = JSONWriter()
        writer.object {
            $0.member("e", Base64URL.string(exponent))
            $0.member("kty", "RSA")
            $0.member("n", Base64URL.string(modulus))
        }
        var hash = [UInt8](repeating: 0, count: 32)
        SHA256(writer.bytes, writer.bytes.count, &hash)
        return Base64URL.string(hash)
    }
}

extension RSAPublicKey {
    /// Reads the one public key (`PUBLIC KEY`, RFC 5280's SubjectPublicKeyInfo) of a PEM text.
    ///
    /// - Throws: `unreadableKey`, `weakKey`
    public init(pem: String) throws(AccessTokenError) {
        let keys = try Self.keys(pem: pem)
        guard keys.count == 1 else { throw AccessTokenError(.unreadableKey, "The text holds more than one key.") }
        self = keys[0]
    }

    static func keys(pem: String) throws(AccessTokenError) -> [RSAPublicKey] {
        var keys: [RSAPublicKey] = []
        for block in try PEM.blocks(in: pem) {
            guard block.label == PEM_STRING_PUBLIC else {
                throw AccessTokenError(.unreadableKey, "Only PUBLIC KEY blocks are taken here, not \(block.label).")
            }
            let pointer = block.bytes.withUnsafeBufferPointer { bytes in
                var cursor = bytes.baseAddress
                return d2i_PUBKEY(nil, &cursor, bytes.count)
            }
            keys.append(try RSAPublicKey(EVPKey(owning: pointer)))
        }
        return keys
    }

    /// The key as a `PUBLIC KEY` block, with a final line feed.
    public var pem: String {
        get throws(AccessTokenError) {
            let key = try EVPKey(modulus: modulus, exponent: exponent)
            return try PEM.text { PEM_write_bio_PUBKEY($0, key.pointer) }
        }
    }
}
