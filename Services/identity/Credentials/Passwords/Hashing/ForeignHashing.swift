import CGatehouseOpenSSL
import Foundation
import GatehouseBytes
import GatehouseServiceContracts
import GatehouseServiceKit

#if os(Linux)
    import CCrypt
#endif

/// Verifies password hashes from other systems.
struct ForeignHashing: Sendable {
    /// The project's signer key, where users came from Firebase.
    var firebaseSignerKey: [UInt8]?

    /// A user's hash came from Firebase, but this replica has no signer key.
    struct NoSignerKey: ProblemConvertible, CustomStringConvertible {
        var problem: Problem { Problem(.unavailable) }
        var description: String {
            "a password was hashed by Firebase, and IDENTITY_FIREBASE_SIGNER_KEY_FILE is not set"
        }
    }

    /// Memory ran out, or a library has a lower limit than Gatehouse.
    struct Refused: ProblemConvertible, CustomStringConvertible {
        var problem: Problem { Problem(.unavailable) }
        var description: String { "a password could not be hashed as another system hashed it" }
    }

    /// Compares the password as it was typed, and then in the other normal form: keyboards write é as one code point or
    /// as two, and other systems hash what they get. Blocks the calling thread until the work is done.
    /// - Throws: ``NoSignerKey``, ``Refused``: the password may be right.
    func compare(_ password: Password, _ hash: ForeignHash) throws -> PasswordComparison {
        for form in password.foreignForms where try verify(form, hash) {
            return hash.readsAll(of: form) ? .right : .rightInPart
        }
        return .wrong
    }

    private func verify(_ typed: [UInt8], _ hash: ForeignHash) throws -> Bool {
        switch hash {
        case .bcrypt(let hash): return Bcrypt.verify(typed, hash)
        case .argon2(let hash): return try isEqual(Argon2.hash(typed, as: hash), hash.hash)
        case .scrypt(let hash):
            let made = OpenSSLDerivation.scrypt(
                typed, salt: hash.salt, parameters: hash.parameters, length: hash.hash.count)
            return try isEqual(made, hash.hash)
        case .pbkdf2(let hash):
            let made = OpenSSLDerivation.pbkdf2(
                typed, salt: hash.salt, digest: hash.digest, iterations: hash.iterations, length: hash.hash.count)
            return try isEqual(made, hash.hash)
        case .firebase(let hash):
            guard let signerKey = hash.signerKey ?? firebaseSignerKey else { throw NoSignerKey() }
            let key = OpenSSLDerivation.scrypt(
                typed, salt: hash.salt + hash.separator, parameters: hash.parameters, length: 64)
            return try isEqual(
                key.flatMap { OpenSSLDerivation.aes256CTR(signerKey, key: Array($0.prefix(32))) }, hash.hash)
        }
    }

    private func isEqual(_ made: [UInt8]?, _ kept: [UInt8]) throws -> Bool {
        guard let made else { throw Refused() }
        return constantTimeEqual(made, kept)
    }
}

/// bcrypt from the system's libcrypt. macOS has none, so no password matches such a hash there.
enum Bcrypt {
    /// Blocks the calling thread until the work is done.
    static func verify(_ password: [UInt8], _ hash: BcryptHash) -> Bool {
        #if os(Linux)
            // The library would treat the NUL as the end of the password.
            guard !password.contains(0) else { return false }
            let phrase = password.map { CChar(bitPattern: $0) } + [0]
            // 32 KiB, which is too large for a thread's stack.
            let data = UnsafeMutablePointer<crypt_data>.allocate(capacity: 1)
            memset(data, 0, MemoryLayout<crypt_data>.size)
            defer {
                memset(data, 0, MemoryLayout<crypt_data>.size)
                data.deallocate()
            }
            guard let made = crypt_r(phrase, hash.text, data) else { return false }
            return constantTimeEqual(Array(String(cString: made).utf8), Array(hash.text.utf8))
        #else
            return false
        #endif
    }
}

/// Keys that OpenSSL derives from passwords. Each call blocks the calling thread until the work is done.
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
        // OpenSSL's limit counts some kilobytes in addition to the blocks.
        let memory = UInt64(ScryptParameters.maximumMemory) + (1 << 20)
        let status = withCharacters(password) { password in
            EVP_PBE_scrypt(
                password.baseAddress, password.count, salt, salt.count, 1 << UInt64(parameters.logN),
                UInt64(parameters.r), UInt64(parameters.p), memory, &output, length)
        }
        return status == 1 ? output : nil
    }

    /// AES-256 in counter mode, with a counter that starts at zero.
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
