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
    /// A token that is found under another key than that of its id is a forgery, and signs its client out; under an id
    /// that is not known its hash decides. So no id is used again: not one of those in use, and otherwise one at random.
    ///
    /// - Parameters:
    ///   - id: `nil` chooses one.
    ///   - present: the refresh keys file that is in use, if there is one.
    /// - Returns: the new key's id.
    /// - Throws: `CocoaError` when the file is there already or cannot be written; `RefreshKeyFileError` when the present
    ///   file holds the id, or is none.
    public func writeRefreshKey(id: UInt8?, to path: String, besides present: String?) throws -> UInt8 {
        var taken: Set<UInt8> = []
        if let present, FileManager.default.fileExists(atPath: present) {
            taken = try RefreshKeyRing(file: String(contentsOfFile: present, encoding: .utf8)).ids
        }
        if let id, taken.contains(id) { throw RefreshKeyFileError("\(present ?? "") holds a key with the id \(id)") }
        guard let id = id ?? (0...UInt8.max).filter({ !taken.contains($0) }).randomElement() else {
            throw RefreshKeyFileError("\(present ?? "") holds a key for each id: take the oldest out")
        }
        let secret = SymmetricKey(size: .bits256).withUnsafeBytes { Data($0).base64EncodedString() }
        let head = DevelopmentSecret.fileHead(isForDevelopment: isForDevelopment)
        try KeyFile.create(path, with: "\(head)\(id):\(secret)\n")
        return id
    }
}
