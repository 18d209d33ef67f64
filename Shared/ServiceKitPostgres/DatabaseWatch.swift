public import GatehouseInstruments
import GatehouseServiceKit
public import Logging
public import Postgres
public import ServiceLifecycle

/// Measures what keeps PostgreSQL from cleaning up a service's database, and how far the sweep is behind.
///
/// It warns of abandoned prepared transactions (two-phase commit). They hold their locks and block VACUUM, and what
/// they wrote, such as revocations, stays invisible. Gatehouse prepares none, but other applications on the same server
/// may.
public struct DatabaseWatch: Service {
    private let database: PostgresPool
    private let expiry: String?
    private let logger: Logger
    private let interval = Duration.seconds(60)
    /// Seconds after which a prepared transaction counts as abandoned.
    var abandonedAfter: Double = 3600
    private let oldestPrepared: GaugeFamily
    private let transactionAge: GaugeFamily
    private let unpurgedExpiry: GaugeFamily?

    /// - Parameters:
    ///   - service: the service that owns the database. The metrics' names begin with it.
    ///   - expiry: SQL that selects the expiry (`timestamptz`) of the expired row that the sweep reaches first, if
    ///     there is one. `nil` measures no expiry.
    ///   - metrics: where the metrics are kept; `nil` for those of the process.
    public init(
        service: String, database: PostgresPool, expiry: String? = nil, logger: Logger,
        metrics: (any MetricsFactory)? = nil
    ) {
        self.database = database
        self.expiry = expiry
        self.logger = logger
        oldestPrepared = GaugeFamily(
            "\(service)_oldest_prepared_transaction_seconds",
            help: "Age of the oldest transaction of the server that is prepared and neither committed nor rolled back.",
            factory: metrics)
        transactionAge = GaugeFamily(
            "\(service)_database_transaction_age",
            help: "Transactions since the oldest one that VACUUM still has to freeze in this database.",
            factory: metrics)
        unpurgedExpiry = expiry.map { _ in
            GaugeFamily(
                "\(service)_oldest_unpurged_expiry_seconds",
                help: "Time since the expiry of an expired session that the sweep reaches first; 0 for none.",
                factory: metrics)
        }
    }

    /// Measures until the service shuts down.
    public func run() async {
        await cancelWhenGracefulShutdown {
            var logged: Set<String> = []
            await Periodic(every: interval).run {
                // If PostgreSQL is unavailable, other components log it.
                if let abandoned = try? await check(logged: logged) { logged = abandoned }
                try? await measure()
                return .afterInterval
            }
        }
    }

    /// Sets the age of the oldest prepared transaction, and logs each abandoned transaction that is not in `logged`.
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

    /// Sets the age of transactions, and of the unpurged expiry.
    func measure() async throws(PostgresError) {
        let age = try await database.query(
            "SELECT age(datfrozenxid)::bigint FROM pg_database WHERE datname = current_database()")
        transactionAge.gauge().set(Double(try age[0].decode(Int64.self)))
        guard let expiry, let unpurgedExpiry else { return }
        let seconds = try await database.query(
            "SELECT extract(epoch FROM statement_timestamp() - (\(unescaped: expiry)))::double precision")
        unpurgedExpiry.gauge().set(try seconds[0].decode(Double?.self) ?? 0)
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
