public import Postgres

extension PostgresConfiguration {
    /// Timeouts that a busy machine does not reach: for a test's preparations and checks, and for tests that do not
    /// concern time.
    public static func patient(_ url: String) throws -> PostgresConfiguration {
        var configuration = try PostgresConfiguration(url: url)
        configuration.connectTimeout = .seconds(60)
        configuration.statementTimeout = .seconds(60)
        configuration.lockTimeout = .seconds(60)
        configuration.idleInTransactionTimeout = .seconds(60)
        return configuration
    }
}

extension PostgresPoolConfiguration {
    /// The defaults, but with a long wait for a connection, because the machine may be busy.
    public static var patient: PostgresPoolConfiguration {
        var configuration = PostgresPoolConfiguration()
        configuration.acquireTimeout = .seconds(60)
        return configuration
    }
}

extension PostgresConnection {
    /// A connection with ``PostgresConfiguration/patient(_:)``.
    public static func patient(_ url: String) async throws -> PostgresConnection {
        try await connect(.patient(url))
    }
}
