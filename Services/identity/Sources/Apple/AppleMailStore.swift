import Foundation
import Postgres

/// To which private relay addresses Apple forwards mail, as their users have decided (table `apple_mail_forwarding`).
struct AppleMailStore: Sendable {
    let database: PostgresPool

    /// Whether a message may be sent to the address. Whoever sends mail asks first: Apple would not forward it, and
    /// counts what it turns away against the team.
    func mayReceiveMail(_ address: EmailAddress, deadline: ContinuousClock.Instant? = nil) async throws -> Bool {
        try await database.query(
            "SELECT user_id FROM apple_mail_forwarding WHERE email = \(address.value) AND NOT enabled",
            deadline: deadline
        ).isEmpty
    }

    /// Notes what the user has decided. An earlier decision that is told late changes nothing.
    func note(
        isForwarded: Bool, to address: EmailAddress, of userID: UUID, since time: Date,
        deadline: ContinuousClock.Instant
    ) async throws {
        // The user's row is locked, so that the account is not deleted in between.
        try await database.query(
            """
            INSERT INTO apple_mail_forwarding (user_id, email, enabled, changed_at)
            SELECT id, \(address.value), \(isForwarded), \(time) FROM users WHERE id = \(userID) FOR KEY SHARE
            ON CONFLICT (user_id) DO UPDATE
                SET email = EXCLUDED.email, enabled = EXCLUDED.enabled, changed_at = EXCLUDED.changed_at
                WHERE apple_mail_forwarding.changed_at <= EXCLUDED.changed_at
            """, deadline: deadline)
    }
}
