public import Postgres

extension PostgresConfiguration {
    /// Time-outs that a busy machine does not reach: for what a test looks at or prepares, and for tests that are not
    /// about time.
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
    /// The defaults, but that callers wait for a connection for as long as a busy machine takes.
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
