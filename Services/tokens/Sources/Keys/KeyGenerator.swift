import Crypto
import Foundation
import GatehouseAccessTokens
import GatehouseServiceKit
import GatehouseSettings
import Sealing

/// Generates key files. Files with secret keys are readable only by their owner. The file with public keys is readable
/// by every user of the system.
public struct KeyGenerator: Sendable {
    let isForDevelopment: Bool

    /// - Parameter isForDevelopment: marks the files so that production refuses them.
    public init(isForDevelopment: Bool) {
        self.isForDevelopment = isForDevelopment
    }

    /// Generates an RSA key. If the signing keys file does not exist, writes one in which the key signs. Otherwise adds
    /// the key to the file as the next key.
    ///
    /// - Parameter publicPath: the file for the public keys of all signing keys, written before the new key may sign.
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
        let keys = SigningKeys(first: key, since: .now, isForDevelopment: isForDevelopment)
        if let publicPath { try Self.writePublicKeys(keys, to: publicPath) }
        try KeyFile.create(path, with: keys.text)
        return keys.entries[0]
    }

    /// Writes the public keys of all signing keys, and replaces an existing file.
    ///
    /// - Throws: `CocoaError` when the file cannot be written.
    public static func writePublicKeys(_ keys: SigningKeys, to path: String) throws {
        try KeyFile.replace(path, with: keys.publicText(), mode: 0o644)
    }

    /// Writes a refresh keys file with one new key.
    ///
    /// No id may be used twice. A token with a known id and a wrong HMAC is a forgery. If a new key reused an old key's
    /// id, all tokens of the old key would count as forgeries, and their users would be signed out. For an unknown id
    /// the hash in PostgreSQL decides instead. So the id is chosen at random from those that are not in use.
    ///
    /// - Parameters:
    ///   - id: `nil` chooses one.
    ///   - present: the refresh keys file that is in use, if any.
    /// - Returns: the new key's id.
    /// - Throws: `CocoaError` when the file already exists or cannot be written; `KeyRingError` when the present file
    ///   holds the id, or is not a refresh keys file.
    public func writeRefreshKey(id: UInt8?, to path: String, besides present: String?) throws -> UInt8 {
        var taken: Set<UInt8> = []
        if let present, FileManager.default.fileExists(atPath: present) {
            taken = try RefreshKeyRing(file: String(contentsOfFile: present, encoding: .utf8)).ids
        }
        if let id, taken.contains(id) { throw KeyRingError("\(present ?? "") holds a key with the id \(id)") }
        guard let id = id ?? (0...UInt8.max).filter({ !taken.contains($0) }).randomElement() else {
            throw KeyRingError("\(present ?? "") holds a key for each id: remove the oldest")
        }
        let secret = SymmetricKey(size: .bits256).withUnsafeBytes { Data($0).base64EncodedString() }
        let head = DevelopmentSecret.fileHead(isForDevelopment: isForDevelopment)
        try KeyFile.create(path, with: "\(head)\(id):\(secret)\n")
        return id
    }
}
