import Contracts
import Foundation
import Postgres

/// What is kept of a user beside their sessions: the claims of access tokens, and the whole user as JSON for the
/// answer.
struct UserRecord: Sendable, Equatable {
    var id: UUID
    var role: String
    var storeIDs: [String]
    var email: String?
    /// Whether the user has proved that the address is theirs.
    var isEmailVerified: Bool
    /// The contract's `User` as JSON, which clients are given as it is.
    var profile: String
}

extension UserRecord {
    /// The columns of `users` but `id`. Whether the address is verified is read from the profile: it has no column.
    static let columns = """
        users.role, users.store_ids, users.email,
        users.email IS NOT NULL AND COALESCE((users.profile::json ->> 'emailVerified')::boolean, false), users.profile
        """

    /// - Parameter first: the place of the first of ``columns`` in the row.
    init(id: UUID, row: PostgresRow, from first: Int) throws(PostgresError) {
        self.init(
            id: id, role: try row.decode(column: first), storeIDs: try row.decode(column: first + 1),
            email: try row.decode(column: first + 2), isEmailVerified: try row.decode(column: first + 3),
            profile: try row.decode(column: first + 4))
    }

    init(_ user: User) throws {
        self.init(
            id: user.id, role: user.role, storeIDs: user.storeIds, email: user.email,
            isEmailVerified: user.email != nil && user.emailVerified,
            profile: String(decoding: try JSON.encode(user), as: UTF8.self))
    }
}
