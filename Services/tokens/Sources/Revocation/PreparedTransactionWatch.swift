import Instruments
import Logging
import Postgres
import ServiceLifecycle

/// Warns of transactions that were prepared (two-phase commit) and then forgotten. They keep their locks, keep VACUUM
/// from its work, and what they revoked stays invisible to everybody. Gatehouse prepares none; others on the same
/// server may.
struct PreparedTransactionWatch: Service {
    let pool: PostgresPool
    let logger: Logger
    var metrics: (any MetricsFactory)?
    var interval: Duration = .seconds(60)
    /// Seconds after which one counts as forgotten.
    var patience: Double = 3600

    func run() async {
        await cancelWhenGracefulShutdown {
            var told: Set<String> = []
            while !Task.isCancelled {
                // If PostgreSQL is away, others log it.
                if let forgotten = try? await look(besides: told) { told = forgotten }
                try? await Task.sleep(for: interval)
            }
        }
    }

    /// Sets `tokens_oldest_prepared_transaction_seconds`, and logs each forgotten transaction that is not among `told`.
    ///
    /// - Returns: the names of all forgotten transactions.
    func look(besides told: Set<String>) async throws(PostgresError) -> Set<String> {
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
        let forgotten = rows.filter { $0.3 >= patience }
        for (name, database, owner, age) in forgotten where !told.contains(name) {
            logger.warning(
                "A prepared transaction was forgotten: COMMIT PREPARED or ROLLBACK PREPARED it.",
                metadata: ["name": "\(name)", "database": "\(database)", "owner": "\(owner)", "seconds": "\(Int(age))"])
        }
        return Set(forgotten.map(\.0))
    }
}
