package import Foundation
package import Postgres

/// Whether mail to an address that a provider has made is forwarded to the user (table `mail_forwarding`).
package struct MailForwardingStore: Sendable {
    let database: PostgresPool

    package init(database: PostgresPool) {
        self.database = database
    }

    /// Whether a message may be sent to the address. Every sender of mail checks this first: the provider
    /// would reject the mail, and counts rejected mail against the team.
    package func mayReceiveMail(_ address: EmailAddress) async throws -> Bool {
        try await database.query(
            "SELECT user_id FROM mail_forwarding WHERE email = \(address.value) AND NOT enabled"
        ).isEmpty
    }

    /// Stores the user's decision. An earlier decision that arrives late changes nothing.
    package func note(isForwarded: Bool, to address: EmailAddress, of userID: UUID, since time: Date) async throws {
        // The user's row is locked, so that the account is not deleted in between.
        try await database.query(
            """
            INSERT INTO mail_forwarding (user_id, email, enabled, changed_at)
            SELECT id, \(address.value), \(isForwarded), \(time) FROM users WHERE id = \(userID) FOR KEY SHARE
            ON CONFLICT (user_id) DO UPDATE
                SET email = EXCLUDED.email, enabled = EXCLUDED.enabled, changed_at = EXCLUDED.changed_at
                WHERE mail_forwarding.changed_at <= EXCLUDED.changed_at
            """)
    }

    /// Moves the decision to the account that the user's is merged into. That account's own is of an
    /// address that it no longer has.
    package static func move(from: UUID, to into: UUID, on transaction: PostgresTransaction) async throws {
        try await transaction.query("DELETE FROM mail_forwarding WHERE user_id = \(into)")
        try await transaction.query("UPDATE mail_forwarding SET user_id = \(into) WHERE user_id = \(from)")
    }
}
