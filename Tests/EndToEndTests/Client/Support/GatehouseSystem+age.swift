import Foundation
import Postgres

extension GatehouseSystem {
    /// Moves the last rotation of a user's sessions into the past, as if the time had gone by.
    func age(userID: UUID, by seconds: Int) async throws {
        try await withDatabase(of: "tokens") { database in
            try await database.query(
                """
                UPDATE sessions SET rotated_at = rotated_at - make_interval(secs => \(Double(seconds)))
                WHERE user_id = \(userID)
                """)
        }
    }
}
