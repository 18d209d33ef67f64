import COpenSSL

/// Keys that OpenSSL derives of passwords. Each blocks the calling thread for the whole of the work.
enum OpenSSLDerivation {
    /// - Returns: `nil` when the library refuses.
    static func pbkdf2(
        _ password: [UInt8], salt: [UInt8], digest: PBKDF2Hash.Digest, iterations: Int, length: Int
    ) -> [UInt8]? {
        let method =
            switch digest {
            case .sha1: EVP_sha1()
            case .sha256: EVP_sha256()
            case .sha512: EVP_sha512()
            }
        var output = [UInt8](repeating: 0, count: length)
        let status = withCharacters(password) { password in
            PKCS5_PBKDF2_HMAC(
                password.baseAddress, Int32(password.count), salt, Int32(salt.count), Int32(iterations), method,
                Int32(length), &output)
        }
        return status == 1 ? output : nil
    }

    /// - Returns: `nil` when the library refuses, which with acceptable parameters means that memory ran out.
    static func scrypt(_ password: [UInt8], salt: [UInt8], parameters: ScryptParameters, length: Int) -> [UInt8]? {
        var output = [UInt8](repeating: 0, count: length)
        // Its own bound counts some kilobytes besides the blocks.
        let memory = UInt64(ScryptParameters.maximumMemory) + (1 << 20)
        let status = withCharacters(password) { password in
            EVP_PBE_scrypt(
                password.baseAddress, password.count, salt, salt.count, 1 << UInt64(parameters.logN),
                UInt64(parameters.r), UInt64(parameters.p), memory, &output, length)
        }
        return status == 1 ? output : nil
    }

    /// AES-256 in counter mode, from a counter of zero on.
    static func aes256CTR(_ text: [UInt8], key: [UInt8]) -> [UInt8]? {
        guard key.count == 32, let context = EVP_CIPHER_CTX_new() else { return nil }
        defer { EVP_CIPHER_CTX_free(context) }
        let counter = [UInt8](repeating: 0, count: 16)
        var output = [UInt8](repeating: 0, count: text.count)
        var written: Int32 = 0
        guard EVP_EncryptInit_ex(context, EVP_aes_256_ctr(), nil, key, counter) == 1,
            EVP_EncryptUpdate(context, &output, &written, text, Int32(text.count)) == 1, written == text.count
        else { return nil }
        return output
    }

    private static func withCharacters<Result>(
        _ bytes: [UInt8], _ body: (UnsafeBufferPointer<CChar>) -> Result
    ) -> Result {
        bytes.withUnsafeBytes { body($0.bindMemory(to: CChar.self)) }
    }
}
