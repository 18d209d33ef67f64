import Postgres

/// Whether the database is the one that this service has written all along, or was made of a dump. What happened after
/// the dump is missing then: sessions that have ended since would live again, and tokens that were rotated away be
/// current. So a restored database is not used until an operator has said what becomes of its sessions
/// (``Restoration``).
///
/// A backup of the files, and recovery to a point in time, can't be told from a standby's promotion: of those the
/// operator has to know.
enum DatabaseOrigin {
    /// Asked of each new connection.
    ///
    /// - Throws: `connectionFailed` where the database was restored, so that requests are answered `UNAVAILABLE`.
    static func check(_ connection: PostgresConnection) async throws(PostgresError) {
        guard try await isRestored(connection) else { return }
        throw PostgresError(.connectionFailed, refusal)
    }

    static func isRestored(_ connection: some PostgresQuerying) async throws(PostgresError) -> Bool {
        let rows = try await connection.query("SELECT xmin = transaction_id::xid FROM database_origin")
        guard let row = rows.first else { return true }
        return try !row.decode(Bool.self)
    }

    static let refusal = """
        this database was made of a dump, and what happened after the dump is missing: run `tokens after-restore` \
        (docs/operations/backup.md)
        """
}
