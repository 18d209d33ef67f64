import Contracts
import Foundation
import Postgres

extension SessionStore {
    /// Notes that the user of a living session has proved now who they are.
    ///
    /// Access tokens that are out already keep telling of the proof before; the next refresh tells of this one.
    ///
    /// - Returns: `false` when the user has no such session.
    func renewAuthentication(
        of id: UUID, userID: UUID, by methods: [AuthenticationMethod], deadline: ContinuousClock.Instant?
    ) async throws(PostgresError) -> Bool {
        let result = try await pool.query(
            """
            UPDATE sessions SET authenticated_at = statement_timestamp(),
                authentication_methods = \(methods.map(\.rawValue))
            WHERE id = \(id) AND user_id = \(userID) AND expires_at > statement_timestamp()
            """, deadline: deadline)
        return result.affectedRows == 1
    }
}
