import Postgres

/// Detects a database that was restored from a dump. Such a database lacks every change after the dump: ended sessions
/// would be live again, and rotated tokens would be current. So the service does not use a restored database until an
/// operator has decided about its sessions (``Restoration``).
///
/// The check cannot distinguish a restored file backup, or point-in-time recovery, from a standby's promotion. In those
/// cases the operator has to run the command before the service starts.
enum DatabaseOriginStore {
    /// Checks each new connection.
    ///
    /// - Throws: `connectionFailed` when the database was restored, so that requests are answered `UNAVAILABLE`.
    static func check(_ connection: PostgresConnection) async throws(PostgresError) {
        guard try await isRestored(connection) else { return }
        throw PostgresError(.connectionFailed, refusal)
    }

    static func isRestored(_ connection: some PostgresQuerying) async throws(PostgresError) -> Bool {
        let rows = try await connection.query("SELECT xmin = transaction_id::xid FROM database_origin")
        guard let row = rows.first else { return true }
        return try !row.decode(Bool.self)
    }

    /// Allows the service to use the database.
    static func renew(on transaction: PostgresTransaction) async throws(PostgresError) {
        try await transaction.query("DELETE FROM database_origin")
        try await transaction.query("INSERT INTO database_origin DEFAULT VALUES")
    }

    static let refusal = """
        this database was made of a dump, and what happened after the dump is missing: run `tokens after-restore` \
        (docs/operations/backup.md)
        """
}
