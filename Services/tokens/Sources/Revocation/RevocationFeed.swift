import Contracts
import Foundation
import Instruments
import Logging
import Postgres
import ServiceKitPostgres
import ServiceLifecycle

/// The revocation feed (`GET /internal/revocations`): delivers each revoked session to every reader at least once, in
/// no particular order.
struct RevocationFeed: Sendable {
    private let feed: TransactionFeed<RevocationPage.Entry>

    /// - Parameter pollInterval: the time between two queries for a waiting reader. A revoked session's access token
    ///   must be refused everywhere within a second, and this interval is a part of that second.
    init(database: PostgresPool, pageSize: Int = 1000, pollInterval: Duration = .milliseconds(150)) {
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

/// Warns of abandoned prepared transactions (two-phase commit). They hold their locks and block VACUUM, and their
/// revocations stay invisible to every reader. Gatehouse prepares none, but other applications on the same server may.
struct PreparedTransactionWatch: Service {
    let pool: PostgresPool
    let logger: Logger
    var metrics: (any MetricsFactory)?
    var interval: Duration = .seconds(60)
    /// Seconds after which a prepared transaction counts as abandoned.
    var abandonedAfter: Double = 3600

    func run() async {
        await cancelWhenGracefulShutdown {
            var logged: Set<String> = []
            while !Task.isCancelled {
                // If PostgreSQL is unavailable, other components log it.
                if let abandoned = try? await check(logged: logged) { logged = abandoned }
                try? await Task.sleep(for: interval)
            }
        }
    }

    /// Sets `tokens_oldest_prepared_transaction_seconds`, and logs each abandoned transaction that is not in `logged`.
    ///
    /// - Returns: the names of all abandoned transactions.
    func check(logged: Set<String>) async throws(PostgresError) -> Set<String> {
        let rows = try await pool.query(
            """
            SELECT gid, database::text, owner::text,
                extract(epoch FROM statement_timestamp() - prepared)::double precision
            FROM pg_prepared_xacts ORDER BY prepared LIMIT 100
            """
        ).decode((String, String, String, Double).self)
        Gauge(
            "tokens_oldest_prepared_transaction_seconds",
            help: "Age of the oldest transaction of the server that is prepared and neither committed nor rolled back.",
            factory: metrics
        ).set(rows.first?.3 ?? 0)
        let abandoned = rows.filter { $0.3 >= abandonedAfter }
        for (name, database, owner, age) in abandoned where !logged.contains(name) {
            logger.warning(
                "A prepared transaction was forgotten: COMMIT PREPARED or ROLLBACK PREPARED it.",
                metadata: ["name": "\(name)", "database": "\(database)", "owner": "\(owner)", "seconds": "\(Int(age))"])
        }
        return Set(abandoned.map(\.0))
    }
}
