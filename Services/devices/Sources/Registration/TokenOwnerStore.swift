import Foundation
import Postgres
import ServiceKitPostgres

/// The owner of a push token. A registration of another user or epoch is void.
struct TokenOwner: Sendable, Equatable {
    let user: UUID
    let epoch: Int64
}

/// The owners of push tokens. They are stored under their tokens' hashes, and a user's registrations in the user's
/// bucket, so that readers of registrations read the owners after them, in a statement of their own.
struct TokenOwnerStore: Sendable {
    let database: PostgresPool

    /// - Parameter hashes: of 32 bytes each.
    func owners(of hashes: Set<Data>) async throws(PostgresError) -> [Data: TokenOwner] {
        guard !hashes.isEmpty else { return [:] }
        // All in one text.
        let rows = try await database.query(
            """
            SELECT token_hash, user_id, epoch FROM push_token_owners WHERE token_hash = ANY (ARRAY(
                SELECT substr(\(Data(hashes.joined())), 32 * number + 1, 32)
                FROM generate_series(0, \(Int32(hashes.count - 1))) AS number))
            """
        ).decode((Data, UUID, Int64).self)
        var owners: [Data: TokenOwner] = [:]
        for (hash, user, epoch) in rows { owners[hash] = TokenOwner(user: user, epoch: epoch) }
        return owners
    }
}
