import Contracts
import Foundation
import Postgres
import ServiceKitPostgres

/// The revocation feed (`GET /internal/revocations`): delivers each revoked session to every reader at least once, in
/// no particular order.
struct RevocationFeedStore: Sendable {
    let database: PostgresPool
    private let feed: TransactionFeed<RevocationPage.Entry>

    /// - Parameter pollInterval: the time between two queries for a waiting reader. A revoked session's access token
    ///   must be refused everywhere within a second, and this interval is a part of that second.
    init(database: PostgresPool, pageSize: Int = 1000, pollInterval: Duration = .milliseconds(150)) {
        self.database = database
        feed = TransactionFeed(
            .init(
                table: "revocations", horizon: "revocation_horizon", epoch: "revocation_epoch",
                columns: """
                    session_id, user_id, revoked_at,
                    greatest(0, extract(epoch FROM clock_timestamp() - revoked_at)::double precision) AS age,
                    access_expires_at, reason
                    """),
            database: database, pageSize: pageSize, pollInterval: pollInterval,
            decode: { try RevocationPage.Entry($0) })
    }

    /// The entries after `cursor`. If none exist yet, waits for entries until `end`.
    ///
    /// - Parameter cursor: the cursor of an earlier page. `nil` or empty begins with the oldest entry,
    ///   ``RevocationPage/latest`` at the end.
    func page(after cursor: String?, waitingUntil end: ContinuousClock.Instant) async throws -> RevocationPage {
        if cursor == RevocationPage.latest {
            return RevocationPage(entries: [], cursor: try await feed.end(), reset: false, more: false)
        }
        let page = try await feed.page(after: cursor, waitingUntil: end)
        return RevocationPage(entries: page.entries, cursor: page.cursor, reset: page.reset, more: page.more)
    }
}

extension RevocationPage.Entry {
    fileprivate init(_ row: PostgresRow) throws(PostgresError) {
        self.init(
            sessionID: try row.decode("session_id"), userID: try row.decode("user_id"),
            revokedAt: try row.decode("revoked_at"), age: try row.decode("age"),
            accessExpiresAt: try row.decode("access_expires_at"),
            reason: RevocationReason(rawValue: try row.decode("reason")))
    }
}

extension RevocationFeedStore {
    /// A transaction that was prepared (two-phase commit), and neither committed nor rolled back.
    struct PreparedTransaction: Sendable {
        var name: String
        var database: String
        var owner: String
        /// Seconds since it was prepared.
        var age: Double
    }

    /// The prepared transactions of the server, the oldest first. Their revocations are in no page.
    func preparedTransactions() async throws(PostgresError) -> [PreparedTransaction] {
        try await database.query(
            """
            SELECT gid, database::text, owner::text,
                extract(epoch FROM statement_timestamp() - prepared)::double precision
            FROM pg_prepared_xacts ORDER BY prepared LIMIT 100
            """
        ).decode((String, String, String, Double).self).map(PreparedTransaction.init)
    }
}
