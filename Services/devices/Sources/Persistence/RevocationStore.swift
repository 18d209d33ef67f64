import Contracts
import Foundation
import Postgres

/// What devices keeps of tokens' revocation feed: the cursor, and the sessions that may no longer register.
struct RevocationStore: Sendable {
    /// Sessions revoked in one transaction: each takes a lock, of which PostgreSQL has room for some thousands.
    private static let batchSize = 200
    /// Seconds for which a session stays barred after its last access token has expired, because clocks differ.
    private static let clockMargin: TimeInterval = 300

    let database: PostgresPool

    /// Where to read on; `nil` before the first page.
    func cursor() async throws(PostgresError) -> String? {
        try await database.query("SELECT cursor FROM revocation_feed").first?.decode(String?.self)
    }

    /// Detaches the devices of the page's sessions and bars these from registering, and moves the cursor in the same
    /// transaction. May be repeated.
    ///
    /// - Parameter cursor: the one that the page was asked for with.
    /// - Returns: how many devices were detached; `nil` when another replica has moved the cursor meanwhile, and so has
    ///   done the work.
    func apply(_ page: RevocationPage, after cursor: String?) async throws -> Int? {
        var detached = 0
        var rest = page.entries[...]
        repeat {
            let batch = Array(rest.prefix(Self.batchSize))
            rest = rest.dropFirst(Self.batchSize)
            let isLast = rest.isEmpty
            // No request waits for this, so it may take longer than one.
            let count: Int? = try await database.withTransaction(deadline: .now + .seconds(30)) { transaction in
                let current = try await transaction.query("SELECT cursor FROM revocation_feed FOR UPDATE")
                guard try current.first?.decode(String?.self) == .some(cursor) else { return nil }
                let count = try await Self.revoke(batch, in: transaction)
                if isLast { try await Self.move(to: page.cursor, in: transaction) }
                return count
            }
            guard let count else { return nil }
            detached += count
        } while !rest.isEmpty
        return detached
    }

    private static func revoke(
        _ entries: [RevocationPage.Entry], in transaction: PostgresTransaction
    ) async throws(PostgresError) -> Int {
        guard let lastExpiry = entries.map(\.accessExpiresAt).max() else { return 0 }
        let sessions = entries.map(\.sessionID)
        // The locks come first (see `session_is_live`): the statements after them see every registration that was
        // committed before.
        try await transaction.query(
            "SELECT count(pg_advisory_xact_lock(uuid_hash_extended(session, 0))) FROM unnest(\(sessions)) AS session")
        try await transaction.query(
            """
            INSERT INTO revoked_sessions (session_id, expires_at)
            SELECT DISTINCT session, \(lastExpiry.addingTimeInterval(clockMargin)) FROM unnest(\(sessions)) AS session
            ON CONFLICT (session_id) DO UPDATE SET
                expires_at = greatest(revoked_sessions.expires_at, excluded.expires_at)
            """)
        return try await transaction.query("DELETE FROM devices WHERE session_id = ANY(\(sessions))").affectedRows
    }

    private static func move(to cursor: String, in transaction: PostgresTransaction) async throws(PostgresError) {
        try await transaction.query("UPDATE revocation_feed SET cursor = \(cursor)")
    }

    /// Forgets sessions whose access tokens have all expired, some at a time.
    ///
    /// - Returns: how many; fewer than `batch` when there are no more.
    func purge(batch: Int) async throws(PostgresError) -> Int {
        try await database.query(
            """
            DELETE FROM revoked_sessions WHERE session_id IN (
                SELECT session_id FROM revoked_sessions WHERE expires_at < statement_timestamp()
                ORDER BY expires_at LIMIT \(batch) FOR UPDATE SKIP LOCKED)
            """
        ).affectedRows
    }
}
