import CGatehouseOpenSSL
public import Foundation

// CryptoKit, "SymmetricKey", "SymmetricKeySize"
public struct SymmetricKeySize: Sendable {
    public let bitCount: Int

    public static var bits256: SymmetricKeySize { SymmetricKeySize(bitCount: 256) }
}

public struct SymmetricKey: Sendable {
    let bytes: [UInt8]

    // CryptoKit, "init(size:)"
    public init(size: SymmetricKeySize) {
        var random = SystemRandomNumberGenerator()
        bytes = (0..<size.bitCount / 8).map { _ in UInt8.random(in: 0...255, using: &random) }
    }

    // CryptoKit, "init(data:)"
    public init<D: ContiguousBytes>(data: D) { bytes = data.withUnsafeBytes { Array($0) } }

    // CryptoKit, "withUnsafeBytes(_:)"
    public func withUnsafeBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
        try bytes.withUnsafeBytes(body)
    }
}

// CryptoKit, "CryptoKitError"
public enum CryptoKitError: Error {
    case incorrectKeySize
    case incorrectParameterSize
    case authenticationFailure
}

// CryptoKit, "AES", "AES.GCM"
public enum AES {
    public enum GCM {
        // CryptoKit, "AES.GCM.SealedBox"
        public struct SealedBox: Sendable {
            let nonce: [UInt8]
            let ciphertext: [UInt8]
            let tag: [UInt8]

            // CryptoKit, "combined": the nonce, the ciphertext and the tag; for a nonce of 12 bytes.
            public var combined: Data? { Data(nonce + ciphertext + tag) }

            // CryptoKit, "init(combined:)"
            public init<D: DataProtocol>(combined: D) throws {
                let bytes = Array(combined)
                guard bytes.count >= 28 else { throw CryptoKitError.incorrectParameterSize }
                self.init(
                    nonce: Array(bytes[..<12]), ciphertext: Array(bytes[12..<bytes.count - 16]),
                    tag: Array(bytes.suffix(16)))
            }

            init(nonce: [UInt8], ciphertext: [UInt8], tag: [UInt8]) {
                self.nonce = nonce
                self.ciphertext = ciphertext
                self.tag = tag
            }
        }

        // CryptoKit, "seal(_:using:nonce:authenticating:)"
        public static func seal<Plaintext: DataProtocol, AuthenticatedData: DataProtocol>(
            _ message: Plaintext, using key: SymmetricKey, authenticating authenticatedData: AuthenticatedData
        ) throws -> SealedBox {
            let nonce = SymmetricKey(size: SymmetricKeySize(bitCount: 96)).bytes
            let cipher = try Cipher(key: key, nonce: nonce, isSealing: true)
            try cipher.authenticate(Array(authenticatedData))
            let ciphertext = try cipher.transform(Array(message))
            return SealedBox(nonce: nonce, ciphertext: ciphertext, tag: try cipher.tag())
        }

        // CryptoKit, "open(_:using:authenticating:)"
        public static func open<AuthenticatedData: DataProtocol>(
            _ sealedBox: SealedBox, using key: SymmetricKey, authenticating authenticatedData: AuthenticatedData
        ) throws -> Data {
            let cipher = try Cipher(key: key, nonce: sealedBox.nonce, isSealing: false)
            try cipher.authenticate(Array(authenticatedData))
            let message = try cipher.transform(sealedBox.ciphertext)
            try cipher.check(sealedBox.tag)
            return Data(message)
        }
    }
}

/// AES-256-GCM of OpenSSL.
private final class Cipher {
    private let context: OpaquePointer
    private let isSealing: Bool

    init(key: SymmetricKey, nonce: [UInt8], isSealing: Bool) throws {
        guard key.bytes.count == 32, let context = EVP_CIPHER_CTX_new() else { throw CryptoKitError.incorrectKeySize }
        self.context = context
        self.isSealing = isSealing
        guard EVP_CipherInit_ex(context, EVP_aes_256_gcm(), nil, key.bytes, nonce, isSealing ? 1 : 0) == 1 else {
            throw CryptoKitError.incorrectParameterSize
        }
    }

    deinit { EVP_CIPHER_CTX_free(context) }

    func authenticate(_ bytes: [UInt8]) throws {
        var count: Int32 = 0
        guard EVP_CipherUpdate(context, nil, &count, bytes, Int32(bytes.count)) == 1 else {
            throw CryptoKitError.incorrectParameterSize
        }
    }

    func transform(_ bytes: [UInt8]) throws -> [UInt8] {
        var result = [UInt8](repeating: 0, count: bytes.count + 16)
        var count: Int32 = 0
        guard EVP_CipherUpdate(context, &result, &count, bytes, Int32(bytes.count)) == 1 else {
            throw CryptoKitError.incorrectParameterSize
        }
        return Array(result[..<Int(count)])
    }

    func tag() throws -> [UInt8] {
        var tag = [UInt8](repeating: 0, count: 16)
        var count: Int32 = 0
        guard EVP_CipherFinal_ex(context, &tag, &count) == 1,
            EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, 16, &tag) == 1
        else { throw CryptoKitError.incorrectParameterSize }
        return tag
    }

    func check(_ tag: [UInt8]) throws {
        var tag = tag
        var rest = [UInt8](repeating: 0, count: 16)
        var count: Int32 = 0
        guard EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, 16, &tag) == 1,
            EVP_CipherFinal_ex(context, &rest, &count) == 1
        else { throw CryptoKitError.authenticationFailure }
    }
}
