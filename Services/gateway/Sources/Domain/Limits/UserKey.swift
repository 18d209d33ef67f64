import Crypto
import Foundation

/// What counts as one user: other issuers may have users with the same identifiers.
struct UserKey: LimitedKey, CustomStringConvertible {
    let id: UUID
    /// 0 for Gatehouse's own.
    let issuerPlace: Int

    init(id: UUID, issuerPlace: Int) {
        self.id = id
        self.issuerPlace = issuerPlace
    }

    /// A user by another issuer's name for them, of which half of a digest is kept: names may be long.
    init(name: String, issuerPlace: Int) {
        let id = SHA256.hash(data: Data(name.utf8)).withUnsafeBytes { $0.loadUnaligned(as: uuid_t.self) }
        self.init(id: UUID(uuid: id), issuerPlace: issuerPlace)
    }

    var description: String { issuerPlace == 0 ? id.uuidString : "\(id.uuidString)@\(issuerPlace)" }

    /// Users choose their identifiers no more than their neighbours.
    var neighbourhood: UInt64 { UInt64(truncatingIfNeeded: hashValue) }
}
