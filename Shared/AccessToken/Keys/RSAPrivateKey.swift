import COpenSSL

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
        // Without a callback OpenSSL would ask for an encrypted key's password on the terminal.
        return try EVPKey(owning: PEM_read_bio_PrivateKey(source, nil, { _, _, _, _ in -1 }, nil))
    }

    /// Names the key without telling it.
    public var description: String { "RSAPrivateKey(kid: \(publicKey.thumbprint))" }
    public var customMirror: Mirror { Mirror(self, children: ["publicKey": publicKey]) }
}
