import Contracts
import Foundation
import Postgres

/// A user as a session's tokens need one: the claims apart, the rest as JSON that nobody here reads again.
struct UserRecord: Sendable, Equatable {
    var id: UUID
    var role: String
    var storeIDs: [String]
    var email: String?
    /// A `User`, as it is passed on to clients.
    var profile: String
}

extension UserRecord {
    init(_ user: User) throws {
        self.init(
            id: user.id, role: user.role, storeIDs: user.storeIds, email: user.email,
            profile: String(decoding: try JSON.encode(user), as: UTF8.self))
    }
}
