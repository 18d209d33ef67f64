import AccessToken
import Crypto
import Foundation
import ServiceKit

/// Makes key files, for their owner's eyes only.
public struct KeyGenerator: Sendable {
    let isForDevelopment: Bool
    private var mark: String { isForDevelopment ? DevelopmentSecret.fileMark + "\n" : "" }

    /// - Parameter isForDevelopment: marks the files so that production refuses them.
    public init(isForDevelopment: Bool) {
        self.isForDevelopment = isForDevelopment
    }

    /// Writes a new RSA key (PEM) that signs, and its public half where wanted; or, where there is such a file already,
    /// adds a key to it that the next rotation makes the signing one.
    ///
    /// - Returns: the new key with its state.
    /// - Throws: `CocoaError` when a file cannot be written; `AccessTokenError`; `SigningKeysError`.
    public func writeSigningKey(
        bits: Int, to path: String, publicKeyTo publicPath: String?
    ) throws -> SigningKeys.Entry {
        let key = try RSAPrivateKey.generate(bits: bits)
        let file = SigningKeyFile(path: path)
        let entry: SigningKeys.Entry
        if file.exists {
            entry = try file.change { keys in
                try keys.add(next: key, at: .now)
                return keys.entries[keys.entries.count - 1]
            }
        } else {
            let keys = SigningKeys(first: key, isForDevelopment: isForDevelopment)
            try Self.write(keys.text, to: path)
            entry = keys.entries[0]
        }
        if let publicPath { try Self.write(mark + key.publicKey.pem, to: publicPath) }
        return entry
    }

    /// Writes a refresh keys file with one new key.
    ///
    /// - Throws: `CocoaError` when the file is there already or cannot be written.
    public func writeRefreshKey(id: UInt8, to path: String) throws {
        let secret = SymmetricKey(size: .bits256).withUnsafeBytes { Data($0).base64EncodedString() }
        try Self.write("\(mark)\(id):\(secret)\n", to: path)
    }

    /// The mode is set as the file is made: there is no moment in which others could open it.
    static func write(_ text: String, to path: String) throws {
        let file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard file >= 0 else {
            throw CocoaError(
                errno == EEXIST ? .fileWriteFileExists : .fileWriteUnknown,
                userInfo: [
                    NSFilePathErrorKey: path
                ])
        }
        let handle = FileHandle(fileDescriptor: file, closeOnDealloc: true)
        try handle.write(contentsOf: Data(text.utf8))
        try handle.synchronize()
    }
}
