import Instruments
import Logging
import Postgres
import ServiceLifecycle

/// Measures what keeps PostgreSQL from cleaning up, and how far the sweep is behind.
///
/// It warns of abandoned prepared transactions (two-phase commit). They hold their locks and block VACUUM, and their
/// revocations stay invisible to every reader. Gatehouse prepares none, but other applications on the same server may.
struct DatabaseWatch: Service {
    let database: PostgresPool
    let logger: Logger
    var interval: Duration = .seconds(60)
    /// Seconds after which a prepared transaction counts as abandoned.
    var abandonedAfter: Double = 3600
    private let oldestPrepared: GaugeFamily
    private let transactionAge: GaugeFamily
    private let unpurgedExpiry: GaugeFamily

    init(database: PostgresPool, logger: Logger, metrics: (any MetricsFactory)? = nil) {
        self.database = database
        self.logger = logger
        oldestPrepared = GaugeFamily(
            "tokens_oldest_prepared_transaction_seconds",
            help: "Age of the oldest transaction of the server that is prepared and neither committed nor rolled back.",
            factory: metrics)
        transactionAge = GaugeFamily(
            "tokens_database_transaction_age",
            help: "Transactions since the oldest one that VACUUM still has to freeze in this database.",
            factory: metrics)
        unpurgedExpiry = GaugeFamily(
            "tokens_oldest_unpurged_expiry_seconds",
            help: "Time since the expiry of an expired session that the sweep reaches first; 0 for none.",
            factory: metrics)
    }

    func run() async {
        await cancelWhenGracefulShutdown {
            var logged: Set<String> = []
            while !Task.isCancelled {
                // If PostgreSQL is unavailable, other components log it.
                if let abandoned = try? await check(logged: logged) { logged = abandoned }
                try? await measure()
                try? await Task.sleep(for: interval)
            }
        }
    }

    /// Sets `tokens_oldest_prepared_transaction_seconds`, and logs each abandoned transaction that is not in `logged`.
    ///
    /// - Returns: the names of all abandoned transactions.
    func check(logged: Set<String>) async throws(PostgresError) -> Set<String> {
        let transactions = try await preparedTransactions()
        oldestPrepared.gauge().set(transactions.first?.age ?? 0)
        let abandoned = transactions.filter { $0.age >= abandonedAfter }
        for each in abandoned where !logged.contains(each.name) {
            logger.warning(
                "A prepared transaction was forgotten: COMMIT PREPARED or ROLLBACK PREPARED it.",
                metadata: [
                    "name": "\(each.name)", "database": "\(each.database)", "owner": "\(each.owner)",
                    "seconds": "\(Int(each.age))",
                ])
        }
        return Set(abandoned.map(\.name))
    }

    /// Sets `tokens_database_transaction_age` and `tokens_oldest_unpurged_expiry_seconds`.
    func measure() async throws(PostgresError) {
        let row = try await database.query(
            """
            SELECT (SELECT age(datfrozenxid)::bigint FROM pg_database WHERE datname = current_database()),
                COALESCE((
                    SELECT extract(epoch FROM statement_timestamp() - expires_at)::double precision FROM sessions
                    WHERE expiry_day <= (statement_timestamp() AT TIME ZONE 'UTC')::date
                        AND expires_at < statement_timestamp()
                    ORDER BY expiry_day, id LIMIT 1), 0)
            """)[0]
        let (transactions, seconds) = try row.decode((Int64, Double).self)
        transactionAge.gauge().set(Double(transactions))
        unpurgedExpiry.gauge().set(seconds)
    }

    /// A transaction that was prepared (two-phase commit), and neither committed nor rolled back.
    private struct PreparedTransaction: Sendable {
        var name: String
        var database: String
        var owner: String
        /// Seconds since it was prepared.
        var age: Double
    }

    /// The prepared transactions of the server, the oldest first. Their revocations are in no page.
    private func preparedTransactions() async throws(PostgresError) -> [PreparedTransaction] {
        try await database.query(
            """
            SELECT gid, database::text, owner::text,
                extract(epoch FROM statement_timestamp() - prepared)::double precision
            FROM pg_prepared_xacts ORDER BY prepared LIMIT 100
            """
        ).decode((String, String, String, Double).self).map(PreparedTransaction.init)
    }
}
