import Crypto
import Foundation

/// PostgreSQL keeps the current token sealed. The key is derived from its predecessor and a server key together: a
/// client that presents the predecessor again is given the same successor, and the database alone gives nobody a token.
extension RefreshKeyRing {
    /// Key id ‖ nonce ‖ AES-GCM(successor) ‖ tag.
    ///
    /// - Throws: `failed`, should the cryptographic library refuse to encrypt.
    func seal(
        _ successor: RefreshToken, under predecessor: RefreshToken
    ) throws(SuccessorSealError) -> [UInt8] {
        let key = Self.sealingKey(predecessor, minting)
        guard
            let box = try? AES.GCM.seal(successor.bytes, using: key, authenticating: Self.context(of: predecessor)),
            let combined = box.combined
        else { throw .failed }
        return [minting.id] + combined
    }

    /// The successor of `predecessor` that was sealed at the rotation.
    func open(_ sealed: [UInt8], with predecessor: RefreshToken) throws(SuccessorSealError) -> RefreshToken {
        guard let id = sealed.first else { throw .broken }
        guard let key = self[id] else { throw .unknownKey(id) }
        guard
            let box = try? AES.GCM.SealedBox(combined: sealed.dropFirst()),
            let bytes = try? AES.GCM.open(
                box, using: Self.sealingKey(predecessor, key), authenticating: Self.context(of: predecessor)),
            let successor = RefreshToken(bytes: Array(bytes))
        else { throw .broken }
        return successor
    }

    private static func sealingKey(_ predecessor: RefreshToken, _ key: RefreshKey) -> SymmetricKey {
        key.salt.withUnsafeBytes { salt in
            HKDF<SHA256>.deriveKey(
                inputKeyMaterial: SymmetricKey(data: predecessor.bytes), salt: salt,
                info: Data("gatehouse sealed successor".utf8), outputByteCount: 32)
        }
    }

    /// Session id and the successor's generation.
    private static func context(of predecessor: RefreshToken) -> [UInt8] {
        var context: [UInt8] = []
        withUnsafeBytes(of: predecessor.sessionID.uuid) { context.append(contentsOf: $0) }
        withUnsafeBytes(of: (predecessor.generation + 1).bigEndian) { context.append(contentsOf: $0) }
        return context
    }
}

/// Why a successor cannot be sealed or opened.
enum SuccessorSealError: Error, Equatable {
    /// It was sealed under a server key that this replica does not have. Another replica may.
    case unknownKey(UInt8)
    /// It is not what a rotation of this predecessor sealed.
    case broken
    /// The cryptographic library refused to encrypt.
    case failed
}
