import COpenSSL

/// Signs or verifies RS256 (RSASSA-PKCS1-v1_5 with SHA-256, RFC 7518 §3.3) with one key.
///
/// `@unchecked Sendable`: OpenSSL's contexts must not be used by two threads at once, and are not, because the only
/// holder of one is a `ContextPool`, which lends it to one caller at a time. All that it points to is its own.
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
        // Fetched once here: a fetch for each token would cost as much as the rest of its verification.
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

    /// Whether `signature` is the key's over `message`. Only a signature of exactly the key's length can be.
    func verifies(_ signature: [UInt8], over message: ArraySlice<UInt8>) throws(AccessTokenError) -> Bool {
        guard signature.count == signatureLength else { return false }
        let hash = try sha256(message)
        let verdict = EVP_PKEY_verify(operation, signature, signature.count, hash, hash.count)
        // A bad signature leaves entries in the thread's error queue.
        if verdict != 1 { ERR_clear_error() }
        return verdict == 1
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
    /// OpenSSL's own words stay in its queue, which is emptied: they are of no use to whoever reads the message.
    static func openSSLFailed() -> AccessTokenError {
        ERR_clear_error()
        return AccessTokenError(.cryptography, "OpenSSL failed.")
    }
}
