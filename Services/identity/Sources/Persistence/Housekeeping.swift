import Postgres

/// Removes what has expired, as far as nobody asks for it any more.
struct Housekeeping: Sendable {
    let database: PostgresPool

    /// Nonces are judged by the replicas' clocks, which may differ from the database's.
    func removeExpired() async throws {
        try await database.query("DELETE FROM used_nonces WHERE expires_at < now() - interval '1 hour'")
        try await database.query("DELETE FROM password_resets WHERE expires_at < now()")
        try await database.query(
            """
            DELETE FROM apple_notifications
            WHERE received_at < now() - make_interval(secs => \(Double(AppleNotification.lifetime + 86_400)))
            """)
    }
}
