import CGatehouseOpenSSL
import Synchronization

/// Lends each caller a context for its exclusive use.
///
/// OpenSSL 3.0 counts references with atomic operations, and locks everything that threads share. This costs more than
/// the arithmetic of a verification. A context owns all of its data, its copy of the key included. The pool never has
/// more contexts than it had concurrent callers.
final class ContextPool<Context: Sendable>: Sendable {
    private let idle = Mutex<[Context]>([])
    private let make: @Sendable () throws(AccessTokenError) -> Context

    /// Creates the first context at once, so that a key that OpenSSL does not accept is detected here.
    init(_ make: @escaping @Sendable () throws(AccessTokenError) -> Context) throws(AccessTokenError) {
        self.make = make
        let first = try make()
        idle.withLock { $0.append(first) }
    }

    func withContext<Result>(
        _ body: (Context) throws(AccessTokenError) -> Result
    ) throws(AccessTokenError) -> Result {
        let context: Context
        if let waiting = idle.withLock({ $0.popLast() }) { context = waiting } else { context = try make() }
        defer { idle.withLock { $0.append(context) } }
        return try body(context)
    }
}

/// Signs or verifies RS256 (RSASSA-PKCS1-v1_5 with SHA-256, RFC 7518 §3.3) with one key.
///
/// `@unchecked Sendable`: OpenSSL's contexts must not be used by two threads at once. Only a `ContextPool` holds a
/// context, and it lends the context to one caller at a time. Contexts share no data.
final class RSAContext: @unchecked Sendable {
    enum Purpose { case signing, verification }

    private let key: EVPKey
    private let operation: OpaquePointer
    private let digest: OpaquePointer
    private let signatureLength: Int

    init(_ key: EVPKey, for purpose: Purpose) throws(AccessTokenError) {
        guard let operation = EVP_PKEY_CTX_new(key.pointer, nil), let digest = EVP_MD_CTX_new() else {
            throw .openSSLFailed()
        }
        self.key = key
        self.operation = operation
        self.digest = digest
        self.signatureLength = Int(EVP_PKEY_get_size(key.pointer))

        let started =
            switch purpose {
            case .signing: EVP_PKEY_sign_init(operation)
            case .verification: EVP_PKEY_verify_init(operation)
            }
        // The digest is fetched once here. A fetch for each token would cost as much as the rest of its verification.
        guard started == 1,
            EVP_PKEY_CTX_set_rsa_padding(operation, RSA_PKCS1_PADDING) == 1,
            EVP_PKEY_CTX_set_signature_md(operation, EVP_sha256()) == 1,
            EVP_DigestInit_ex(digest, EVP_sha256(), nil) == 1
        else { throw .openSSLFailed() }
    }

    deinit {
        EVP_PKEY_CTX_free(operation)
        EVP_MD_CTX_free(digest)
    }

    /// Whether `signature` is the key's signature of `message`. Its length must be exactly the key's.
    func verifies(_ signature: [UInt8], over message: ArraySlice<UInt8>) throws(AccessTokenError) -> Bool {
        guard signature.count == signatureLength else { return false }
        let hash = try sha256(message)
        let result = EVP_PKEY_verify(operation, signature, signature.count, hash, hash.count)
        // A bad signature leaves entries in the thread's error queue.
        if result != 1 { ERR_clear_error() }
        return result == 1
    }

    func sign(_ message: ArraySlice<UInt8>) throws(AccessTokenError) -> [UInt8] {
        let hash = try sha256(message)
        var signature = [UInt8](repeating: 0, count: signatureLength)
        var length = signature.count
        guard EVP_PKEY_sign(operation, &signature, &length, hash, hash.count) == 1, length == signatureLength else {
            throw .openSSLFailed()
        }
        return signature
    }

    private func sha256(_ message: ArraySlice<UInt8>) throws(AccessTokenError) -> [UInt8] {
        var hash = [UInt8](repeating: 0, count: 32)
        let succeeded = message.withUnsafeBytes { message in
            EVP_DigestInit_ex(digest, nil, nil) == 1
                && EVP_DigestUpdate(digest, message.baseAddress, message.count) == 1
                && EVP_DigestFinal_ex(digest, &hash, nil) == 1
        }
        guard succeeded else { throw .openSSLFailed() }
        return hash
    }
}

extension AccessTokenError {
    /// Discards OpenSSL's own error texts, which do not help the reader of the message.
    static func openSSLFailed() -> AccessTokenError {
        ERR_clear_error()
        return AccessTokenError(.cryptography, "OpenSSL failed.")
    }
}

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

    /// Whether `signature` is the key's signature of `message`.
    ///
    /// A token's signature is two numbers of 32 bytes each (RFC 7518 §3.4), and neither is zero (CVE-2022-21449 was a
    /// verifier that accepted zeros). A signature in DER, which OpenSSL reads, is refused.
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
        let result = EVP_PKEY_verify(operation, encoded, encoded.count, hash, hash.count)
        // A bad signature leaves entries in the thread's error queue.
        if result != 1 { ERR_clear_error() }
        return result == 1
    }

    /// A positive number in DER: as few bytes as possible, the first without the high bit.
    private static func integer(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
        var digits = Array(bytes.drop { $0 == 0 })
        if digits[0] >= 0x80 { digits.insert(0, at: 0) }
        return [0x02, UInt8(digits.count)] + digits
    }
}
