import Crypto
import Foundation

/// The current token is kept sealed under a key that only its predecessor and the server's key together give, so
/// that who presents the predecessor again can be given the identical successor, and nobody else anything.
extension RefreshKeyRing {
    /// Key id ‖ AES-GCM(nonce ‖ successor ‖ tag).
    func seal(_ successor: RefreshToken, under predecessor: RefreshToken) -> [UInt8] {
        let key = Self.sealingKey(predecessor, minting)
        do {
            let box = try AES.GCM.seal(successor.bytes, using: key, authenticating: Self.context(of: predecessor))
            return [minting.id] + box.combined!  // There is one whenever the nonce has 12 bytes, as here.
        } catch {
            preconditionFailure("AES-GCM refused a 256-bit key: \(error)")
        }
    }

    /// The successor of `predecessor`, as it was sealed at the rotation.
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

enum SuccessorSealError: Error, Equatable {
    /// Sealed under a server key that this replica has not: another may.
    case unknownKey(UInt8)
    /// Not what a rotation of this predecessor sealed.
    case broken
}
