import CGatehouseOpenSSL
import GatehouseBytes

/// An RSA public key that is strong enough to trust: 2,048 to 8,192 bits, an odd exponent from 65,537.
public struct RSAPublicKey: Sendable, Equatable {
    /// Big-endian, without leading zeros.
    public let modulus: [UInt8]
    /// Big-endian, without leading zeros.
    public let exponent: [UInt8]
    /// The key's SHA-256 thumbprint (RFC 7638) in base64url: Gatehouse's `kid`.
    public let thumbprint: String

    init(modulus: [UInt8], exponent: [UInt8]) throws(AccessTokenError) {
        let bits = modulus.count * 8 - (modulus.first?.leadingZeroBitCount ?? 0)
        guard (2048...8192).contains(bits), modulus.first != 0 else {
            throw AccessTokenError(.weakKey, "An RSA key must have 2048 to 8192 bits.")
        }
        guard modulus.last.map({ $0 & 1 }) == 1 else {
            throw AccessTokenError(.weakKey, "The RSA key's modulus is even.")
        }
        // OpenSSL does not accept larger exponents either.
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

    /// The members in alphabetical order without white space, as RFC 7638 §3 requires.
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

/// An RSA private key that signs access tokens.
public struct RSAPrivateKey: Sendable, CustomStringConvertible, CustomReflectable {
    public let publicKey: RSAPublicKey
    /// The key as an unencrypted PKCS #8 block (`PRIVATE KEY`), with a final line feed. A secret.
    public let pem: String

    /// Reads the one private key of a PEM text: `PRIVATE KEY` (PKCS #8) or `RSA PRIVATE KEY` (PKCS #1), not encrypted.
    ///
    /// - Throws: `unreadableKey`, `weakKey`
    public init(pem: String) throws(AccessTokenError) {
        guard try PEM.blocks(in: pem).count == 1 else {
            throw AccessTokenError(.unreadableKey, "The text holds more than one key.")
        }
        try self.init(Self.read(pem: pem))
    }

    private init(_ key: EVPKey) throws(AccessTokenError) {
        publicKey = try RSAPublicKey(key)
        pem = try PEM.text { PEM_write_bio_PrivateKey($0, key.pointer, nil, nil, 0, nil, nil) }
    }

    /// Makes a new key with the exponent 65,537.
    ///
    /// - Parameter bits: 2,048 to 8,192.
    /// - Throws: `weakKey`, `cryptography`
    public static func generate(bits: Int = 2048) throws(AccessTokenError) -> RSAPrivateKey {
        guard (2048...8192).contains(bits) else {
            throw AccessTokenError(.weakKey, "An RSA key must have 2048 to 8192 bits.")
        }
        guard let context = EVP_PKEY_CTX_new_from_name(nil, "RSA", nil) else { throw .openSSLFailed() }
        defer { EVP_PKEY_CTX_free(context) }
        var pointer: OpaquePointer?
        guard EVP_PKEY_keygen_init(context) == 1, EVP_PKEY_CTX_set_rsa_keygen_bits(context, Int32(bits)) == 1,
            EVP_PKEY_generate(context, &pointer) == 1
        else { throw .openSSLFailed() }
        return try RSAPrivateKey(EVPKey(owning: pointer))
    }

    /// A copy of the key for one signing context.
    func copy() throws(AccessTokenError) -> EVPKey {
        try Self.read(pem: pem)
    }

    private static func read(pem: String) throws(AccessTokenError) -> EVPKey {
        let source = try PEM.source(pem)
        defer { BIO_free(source) }
        // Without a callback OpenSSL would prompt for an encrypted key's password on the terminal.
        return try EVPKey(owning: PEM_read_bio_PrivateKey(source, nil, { _, _, _, _ in -1 }, nil))
    }

    /// Identifies the key without revealing it.
    public var description: String { "RSAPrivateKey(kid: \(publicKey.thumbprint))" }
    public var customMirror: Mirror { Mirror(self, children: ["publicKey": publicKey]) }
}

/// A public key on the curve P-256 (RFC 7518 §6.2).
public struct P256PublicKey: Sendable, Equatable {
    /// The point's coordinates, big-endian, 32 bytes each.
    let x: [UInt8]
    let y: [UInt8]

    /// - Throws: `unreadableKey`, if the point is not on the curve.
    init(x: [UInt8], y: [UInt8]) throws(AccessTokenError) {
        // Coordinates always have the full length (RFC 7518 §6.2.1.2).
        guard x.count == 32, y.count == 32 else {
            throw AccessTokenError(.unreadableKey, "A P-256 key's coordinates must have 32 bytes.")
        }
        let key: EVPKey
        do throws(AccessTokenError) {
            key = try EVPKey(x: x, y: y)
        } catch {
            throw AccessTokenError(.unreadableKey, "The key is not a point of P-256.")
        }
        let context = EVP_PKEY_CTX_new(key.pointer, nil)
        defer { EVP_PKEY_CTX_free(context) }
        guard EVP_PKEY_public_check(context) == 1 else {
            ERR_clear_error()
            throw AccessTokenError(.unreadableKey, "The key is not a point of P-256.")
        }
        self.x = x
        self.y = y
    }
}

extension EVPKey {
    /// A public key on P-256 from its coordinates. OpenSSL refuses those that are not on the curve.
    convenience init(x: [UInt8], y: [UInt8]) throws(AccessTokenError) {
        // 0x04: the point is not compressed (SEC 1, 2.3.3).
        let point = [0x04] + x + y
        let builder = OSSL_PARAM_BLD_new()
        let context = EVP_PKEY_CTX_new_from_name(nil, "EC", nil)
        defer {
            OSSL_PARAM_BLD_free(builder)
            EVP_PKEY_CTX_free(context)
        }
        var pointer: OpaquePointer?
        point.withUnsafeBytes { point in
            guard
                OSSL_PARAM_BLD_push_utf8_string(builder, Self.constant("group"), Self.constant("prime256v1"), 0) == 1,
                OSSL_PARAM_BLD_push_octet_string(builder, Self.constant("pub"), point.baseAddress, point.count) == 1,
                let parameters = OSSL_PARAM_BLD_to_param(builder)
            else { return }
            defer { OSSL_PARAM_free(parameters) }
            if EVP_PKEY_fromdata_init(context) == 1 {
                EVP_PKEY_fromdata(
                    context, &pointer, OSSL_KEYMGMT_SELECT_DOMAIN_PARAMETERS | OSSL_KEYMGMT_SELECT_PUBLIC_KEY,
                    parameters)
            }
        }
        try self.init(owning: pointer)
    }
}
