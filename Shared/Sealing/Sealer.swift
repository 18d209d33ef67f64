import Crypto
public import Foundation

/// Seals secrets of others before they are kept in a database, so that the database alone gives none away: AES-256-GCM
/// under a key that is not in it.
///
/// Form: length of the key's name ‖ the name ‖ nonce ‖ ciphertext ‖ tag.
public struct Sealer: Sendable {
    private let keys: KeyRing

    /// - Parameter purpose: what is sealed opens for this purpose only. It never changes: what is kept would not open.
    public init(keys: KeyRing, purpose: String) {
        self.keys = keys.derived(for: purpose)
    }

    /// Seals a secret.
    ///
    /// - Parameter context: what the secret belongs to; a sealed value moved to another place does not open there.
    public func seal(_ secret: Data, context: String) throws -> Data {
        let box = try AES.GCM.seal(secret, using: keys.current.secret, authenticating: Data(context.utf8))
        var sealed = Data([UInt8(keys.current.id.utf8.count)])
        sealed.append(contentsOf: keys.current.id.utf8)
        sealed.append(contentsOf: box.nonce)
        sealed.append(box.ciphertext)
        sealed.append(box.tag)
        return sealed
    }

    /// The secret within; `nil` when the value is not whole, belongs elsewhere, or was sealed under a key that is no longer known.
    public func open(_ sealed: Data, context: String) -> Data? {
        guard let length = sealed.first, sealed.count > 1 + Int(length),
            let id = String(validating: sealed.dropFirst().prefix(Int(length)), as: UTF8.self), let key = keys[id],
            let box = try? AES.GCM.SealedBox(combined: sealed.dropFirst(1 + Int(length)))
        else { return nil }
        return try? AES.GCM.open(box, using: key, authenticating: Data(context.utf8))
    }
}
