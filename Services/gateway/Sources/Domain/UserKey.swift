import Foundation

/// What counts as one user: other issuers may have users with the same identifiers.
struct UserKey: LimitedKey, CustomStringConvertible {
    let id: UUID
    /// 0 for Gatehouse's own.
    let issuerPlace: Int

    var description: String { issuerPlace == 0 ? id.uuidString : "\(id.uuidString)@\(issuerPlace)" }

    /// Users choose their identifiers no more than their neighbours.
    var neighbourhood: UInt64 { UInt64(truncatingIfNeeded: hashValue) }
}
