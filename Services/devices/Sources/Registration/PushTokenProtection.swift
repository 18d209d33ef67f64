import Crypto
import Foundation
import GatehouseServiceContracts
import Sealing

/// Keeps push tokens secret in the database: a token is sealed, and found by a keyed hash.
struct PushTokenProtection: Sendable {
    /// Stored values depend on both. They must never change.
    private static let hashPurpose = "gatehouse devices push token hash"
    private static let sealingPurpose = "gatehouse devices push token"

    private let hashKey: SymmetricKey
    private let sealer: Sealer

    /// - Parameters:
    ///   - hashKey: a key of its own, which does not change when sealing keys are replaced.
    ///   - sealingKeys: the first one seals.
    init(hashKey: KeyRing, sealingKeys: KeyRing) {
        self.hashKey = hashKey.derived(for: Self.hashPurpose).current.secret
        sealer = Sealer(keys: sealingKeys, purpose: Self.sealingPurpose)
    }

    /// The same token of another environment, app or kind is another one, with another hash.
    func hash(_ registration: ValidRegistration) -> Data {
        var mac = HMAC<SHA256>(key: hashKey)
        let fields = [
            registration.token.bytes, Array(registration.environment.rawValue.utf8), Array(registration.bundleID.utf8),
            Array(registration.kind.rawValue.utf8),
        ]
        for field in fields {
            // The length comes first, so that no two lists of fields have the same encoding.
            withUnsafeBytes(of: UInt32(field.count).bigEndian) { mac.update(data: $0) }
            mac.update(data: field)
        }
        return Data(mac.finalize())
    }

    /// Tokens that are sealed under the present key begin with this, and no others.
    var sealedPrefix: Data { sealer.prefix }

    /// - Parameter hash: of the token's registration. The sealed token opens for this one only.
    func seal(_ token: PushToken, hash: Data) throws -> Data {
        try sealer.seal(Data(token.bytes), context: hash.base64EncodedString())
    }

    /// `nil` for the token of another registration, and for a key that is no longer known.
    func open(_ sealed: Data, hash: Data) -> PushToken? {
        sealer.open(sealed, context: hash.base64EncodedString()).map { PushToken(bytes: Array($0)) }
    }
}
