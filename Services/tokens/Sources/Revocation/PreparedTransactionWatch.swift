import Instruments
import Logging
import Postgres
import ServiceLifecycle

/// Warns of abandoned prepared transactions (two-phase commit). They hold their locks and block VACUUM, and their
/// revocations stay invisible to every reader. Gatehouse prepares none, but other applications on the same server may.
struct PreparedTransactionWatch: Service {
    let database: PostgresPool
    let logger: Logger
    var interval: Duration = .seconds(60)
    /// Seconds after which a prepared transaction counts as abandoned.
    var abandonedAfter: Double = 3600
    private let oldest: GaugeFamily

    init(database: PostgresPool, logger: Logger, metrics: (any MetricsFactory)? = nil) {
        self.database = database
        self.logger = logger
        oldest = GaugeFamily(
            "tokens_oldest_prepared_transaction_seconds",
            help: "Age of the oldest transaction of the server that is prepared and neither committed nor rolled back.",
            factory: metrics)
    }

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
        let transactions = try await preparedTransactions()
        oldest.gauge().set(transactions.first?.age ?? 0)
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
