public import GatehouseObservability
import GatehouseServiceKit
public import GatehouseSettings
public import Logging
public import Postgres

/// The settings of a service's database: `<SERVICE>_DATABASE_URL`, `<SERVICE>_DATABASE_MAXIMUM_CONNECTIONS`,
/// `<SERVICE>_DATABASE_TLS`, `<SERVICE>_DATABASE_POOLER`.
public struct DatabaseConfiguration: Sendable {
    /// The connection's settings.
    public var connection: PostgresConfiguration
    /// Whether the environment is production.
    let isProduction: Bool
    /// The pool's settings.
    public var pool: PostgresPoolConfiguration

    /// Reads the settings. `settings` collects their problems.
    public init(settings: Settings) {
        isProduction = settings.environment == .production
        pool = PostgresPoolConfiguration()
        pool.name = settings.service
        // A request waits for a connection as long as for a result.
        pool.acquireTimeout = settings.dependencyTimeout
        pool.maximumConnections = settings.int(
            "databaseMaximumConnections", default: pool.maximumConnections, in: 1...1000,
            "connections of the pool. One is kept for readiness checks and, in tokens and identity, for feeds")
        pool.reservedConnections = min(1, pool.maximumConnections - 1)
        connection = Self.address(settings)
        connection.applicationName = settings.service
        // Every service writes, so a standby or a former primary must be refused.
        connection.needsPrimary = true
        connection.connectTimeout = settings.dependencyTimeout + .milliseconds(500)
        connection.statementTimeout = settings.dependencyTimeout
        connection.lockTimeout = settings.dependencyTimeout * 2 / 3
        connection.pooler = settings.choice(
            "databasePooler", default: .none,
            "`transaction`: PgBouncer or another pooler in transaction mode stands in between")
        settings.requireTLS(
            of: "databaseURL", by: "databaseTLS", isProtected: connection.isProtected,
            remedy: "add sslmode=verify-full and sslrootcert")
    }

    /// Makes a pool, which the service must run.
    ///
    /// - Parameter tracer: records the pool's statements; `nil` if no traces are recorded.
    public func pool(logger: Logger, tracer: GatehouseTracer? = nil) -> PostgresPool {
        var connection = connection
        if let tracer {
            let spans = DatabaseSpans(system: "postgresql", server: connection.serverName, tracer: tracer)
            connection.onStatement = spans.statement
            connection.onWait = spans.wait
        }
        return PostgresPool(configuration: connection, pool: pool, logger: logger)
    }

    /// If the address is missing or invalid, the settings report it and the service does not start.
    private static func address(_ settings: Settings) -> PostgresConfiguration {
        let url = settings.string(
            "databaseURL", secret: true,
            "`postgres://user:password@host:5432/name`. Each service needs a role and a database of its own")
        guard !url.isEmpty else { return PostgresConfiguration() }
        do {
            return try PostgresConfiguration(url: url)
        } catch {
            settings.problem(
                "databaseURL",
                "must be an address as in postgres://user:password@host:5432/name (\(error.message))")
            return PostgresConfiguration()
        }
    }
}
