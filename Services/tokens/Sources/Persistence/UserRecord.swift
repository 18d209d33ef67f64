import Contracts
import Foundation
import Postgres

/// A user as a session's tokens need one: the claims apart, the rest as JSON that is passed on as it is.
struct UserRecord: Sendable, Equatable {
    var id: UUID
    var role: String
    var storeIDs: [String]
    var email: String?
    /// Whether the user has proved that the address is theirs.
    var isEmailVerified: Bool
    /// A `User`, as it is passed on to clients.
    var profile: String
}

extension UserRecord {
    /// What is read of `users`, `id` apart. Whether the address is proved stands in the profile alone.
    static let columns = """
        users.role, users.store_ids, users.email,
        users.email IS NOT NULL AND COALESCE((users.profile::json ->> 'emailVerified')::boolean, false), users.profile
        """

    init(_ user: User) throws {
        self.init(
            id: user.id, role: user.role, storeIDs: user.storeIds, email: user.email,
            isEmailVerified: user.email != nil && user.emailVerified,
            profile: String(decoding: try JSON.encode(user), as: UTF8.self))
    }
}
