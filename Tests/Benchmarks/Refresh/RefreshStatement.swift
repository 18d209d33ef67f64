import Foundation

/// The UPDATE of a refresh as pgbench runs it, on sessions of `SessionTable`.
///
/// It costs as much as the function `rotate_session`, and differs in two ways. It joins the user; the function reads
/// the user in a second statement. It compares generation and hash with `<>`, which is always true: pgbench remembers
/// no tokens.
struct RefreshStatement {
    /// How many sessions it picks from.
    let sessions: Int

    var script: String {
        """
        \\set number random(1, \(sessions))
        UPDATE sessions AS session SET
            generation = session.generation + 1,
            current_hash = :successor,
            previous_hash = session.current_hash,
            sealed_current = :sealed,
            rotated_at = statement_timestamp(),
            expires_at = LEAST(statement_timestamp() + :idle * interval '1 second', session.absolute_expires_at),
            access_expires_at = GREATEST(
                session.access_expires_at, statement_timestamp() + :access * interval '1 second'),
            late_replays = CASE WHEN session.late_replayed THEN session.late_replays ELSE 0 END,
            late_replayed = false,
            ip_address = COALESCE(:address, session.ip_address),
            expiry_day = LEAST(
                session.expiry_day, ((statement_timestamp() + :idle * interval '1 second') AT TIME ZONE 'UTC')::date)
        FROM users
        WHERE session.bucket = \(SessionTable.bucket(of: ":number::integer"))
            AND session.id = \(SessionTable.id(of: ":number::integer")) AND session.generation <> :generation
            AND session.current_hash <> :hash AND session.expires_at > statement_timestamp()
            AND users.bucket = session.bucket AND users.id = session.user_id
        RETURNING session.rotated_at, session.expires_at, users.id, users.role, users.store_ids, users.email,
            users.is_email_verified, users.profile;
        """
    }

    let variables = [
        "successor": bytea(1, count: 32), "sealed": bytea(2, count: 98), "hash": bytea(3, count: 32),
        "generation": "-1", "idle": "2592000", "access": "3600", "address": "192.0.2.1",
    ]

    private static func bytea(_ byte: UInt8, count: Int) -> String {
        "\\x" + String(repeating: String(format: "%02x", byte), count: count)
    }
}
