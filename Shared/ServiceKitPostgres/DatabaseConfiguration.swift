public import Logging
public import Observability
public import Postgres
import ServiceKit
public import Settings

/// Where a service's database is: `<SERVICE>_DATABASE_URL`, `<SERVICE>_DATABASE_MAXIMUM_CONNECTIONS`,
/// `<SERVICE>_DATABASE_TLS`, `<SERVICE>_DATABASE_POOLER`.
public struct DatabaseConfiguration: Sendable {
    /// The connection's settings.
    public var connection: PostgresConfiguration
    /// Whether it is a production's.
    let isProduction: Bool
    /// The pool's settings.
    public var pool: PostgresPoolConfiguration

    /// Reads the settings; what is wrong is noted there.
    public init(settings: Settings) {
        isProduction = settings.environment == .production
        pool = PostgresPoolConfiguration()
        pool.name = settings.service
        // A request waits for a connection as long as it would for the answer.
        pool.acquireTimeout = settings.patience
        pool.maximumConnections = settings.int(
            "databaseMaximumConnections", default: pool.maximumConnections, in: 1...1000)
        pool.reservedConnections = min(1, pool.maximumConnections - 1)
        connection = Self.address(settings)
        connection.applicationName = settings.service
        // What a service keeps it has to write: a standby, or a primary of yesterday, will not do.
        connection.needsPrimary = true
        connection.connectTimeout = settings.patience + .milliseconds(500)
        connection.statementTimeout = settings.patience
        connection.lockTimeout = settings.patience * 2 / 3
        connection.pooler = settings.choice("databasePooler", default: .none)
        settings.requireTLS(
            of: "databaseURL", by: "databaseTLS", isProtected: connection.isProtected,
            remedy: "add sslmode=verify-full and sslrootcert")
    }

    /// A pool; it runs as one of the service's parts.
    ///
    /// - Parameter tracing: records its statements; `nil` where no traces are recorded.
    public func pool(logger: Logger, tracing: Tracing? = nil) -> PostgresPool {
        var connection = connection
        if tracing != nil {
            let spans = DatabaseSpans(system: "postgresql", server: connection.serverName)
            connection.onStatement = spans.statement
            connection.onWait = spans.wait
        }
        return PostgresPool(configuration: connection, pool: pool, logger: logger)
    }

    /// Where the address is missing or wrong, that is noted and nothing will run.
    private static func address(_ settings: Settings) -> PostgresConfiguration {
        let url = settings.string("databaseURL", secret: true)
        guard !url.isEmpty else { return PostgresConfiguration() }
        do {
            return try PostgresConfiguration(url: url)
        } catch {
            settings.problem("databaseURL", "must be an address as in postgres://user:password@host:5432/name")
            return PostgresConfiguration()
        }
    }
}
