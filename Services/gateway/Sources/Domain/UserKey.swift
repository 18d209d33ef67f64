import Foundation

/// What counts as one user: other issuers may have users with the same identifiers.
struct UserKey: Hashable, Sendable, CustomStringConvertible {
    let id: UUID
    /// 0 for Gatehouse's own.
    let issuerPlace: Int

    var description: String { issuerPlace == 0 ? id.uuidString : "\(id.uuidString)@\(issuerPlace)" }
}
