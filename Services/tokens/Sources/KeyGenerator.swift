import AccessToken
import Crypto
import Foundation
import ServiceKit

/// Makes key files: those of secret keys for their owner's eyes only, that of public keys for everybody's.
public struct KeyGenerator: Sendable {
    let isForDevelopment: Bool

    /// - Parameter isForDevelopment: marks the files so that production refuses them.
    public init(isForDevelopment: Bool) {
        self.isForDevelopment = isForDevelopment
    }

    /// Writes a new RSA key (PEM) that signs; or, where there is such a file already, adds a key to it that the next
    /// rotation makes the signing one.
    ///
    /// - Parameter publicPath: where the public halves of all keys are written, before the new key may sign.
    /// - Returns: the new key with its state.
    /// - Throws: `CocoaError` when a file cannot be written; `AccessTokenError`; `SigningKeysError`.
    public func writeSigningKey(
        bits: Int, to path: String, publicKeyTo publicPath: String?
    ) throws -> SigningKeys.Entry {
        let key = try RSAPrivateKey.generate(bits: bits)
        let file = SigningKeyFile(path: path)
        if file.exists {
            return try file.change { keys in
                try keys.add(next: key, at: .now)
                if let publicPath { try Self.writePublicKeys(keys, to: publicPath) }
                return keys.entries[keys.entries.count - 1]
            }
        }
        let keys = SigningKeys(first: key, isForDevelopment: isForDevelopment)
        if let publicPath { try Self.writePublicKeys(keys, to: publicPath) }
        try KeyFile.create(path, with: keys.text)
        return keys.entries[0]
    }

    /// Writes what verifies the tokens of all keys, in place of what is there.
    ///
    /// - Throws: `CocoaError` when the file cannot be written.
    public static func writePublicKeys(_ keys: SigningKeys, to path: String) throws {
        try KeyFile.replace(path, with: keys.publicText(), mode: 0o644)
    }

    /// Writes a refresh keys file with one new key.
    ///
    /// - Throws: `CocoaError` when the file is there already or cannot be written.
    public func writeRefreshKey(id: UInt8, to path: String) throws {
        let secret = SymmetricKey(size: .bits256).withUnsafeBytes { Data($0).base64EncodedString() }
        let head = DevelopmentSecret.fileHead(isForDevelopment: isForDevelopment)
        try KeyFile.create(path, with: "\(head)\(id):\(secret)\n")
    }
}
