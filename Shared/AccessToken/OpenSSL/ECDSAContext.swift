import COpenSSL

/// Verifies ES256 (ECDSA on P-256 with SHA-256, RFC 7518 §3.4) with one key.
///
/// `@unchecked Sendable`: as `RSAContext`, whose only holder is a `ContextPool` as well.
final class ECDSAContext: @unchecked Sendable {
    private static let numberLength = 32

    private let key: EVPKey
    private let operation: OpaquePointer

    init(_ key: EVPKey) throws(AccessTokenError) {
        guard let operation = EVP_PKEY_CTX_new(key.pointer, nil) else { throw .openSSLFailed() }
        self.key = key
        self.operation = operation
        guard EVP_PKEY_verify_init(operation) == 1, EVP_PKEY_CTX_set_signature_md(operation, EVP_sha256()) == 1 else {
            throw .openSSLFailed()
        }
    }

    deinit {
        EVP_PKEY_CTX_free(operation)
    }

    /// Whether `signature` is the key's over `message`.
    ///
    /// Only the two numbers of the JOSE form can be, 32 bytes each, and neither of them zero (CVE-2022-21449 was a
    /// verifier that took zeros). DER is what OpenSSL reads, and no signature of a token.
    func verifies(_ signature: [UInt8], over message: ArraySlice<UInt8>) throws(AccessTokenError) -> Bool {
        guard signature.count == 2 * Self.numberLength else { return false }
        let (r, s) = (signature[..<Self.numberLength], signature[Self.numberLength...])
        guard r.contains(where: { $0 != 0 }), s.contains(where: { $0 != 0 }) else { return false }
        let sequence = Self.integer(r) + Self.integer(s)
        // At most 70 bytes: lengths are one byte each.
        let encoded = [0x30, UInt8(sequence.count)] + sequence
        var hash = [UInt8](repeating: 0, count: 32)
        message.withUnsafeBytes { message in
            _ = SHA256(message.bindMemory(to: UInt8.self).baseAddress, message.count, &hash)
        }
        let verdict = EVP_PKEY_verify(operation, encoded, encoded.count, hash, hash.count)
        // A bad signature leaves entries in the thread's error queue.
        if verdict != 1 { ERR_clear_error() }
        return verdict == 1
    }

    /// A positive number as DER has it: in as few bytes as it needs, of which the first has no high bit.
    private static func integer(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
        var digits = Array(bytes.drop { $0 == 0 })
        if digits[0] >= 0x80 { digits.insert(0, at: 0) }
        return [0x02, UInt8(digits.count)] + digits
    }
}
