public import Postgres

extension PostgresConnection {
    /// A connection for what a test looks at or prepares: no statement is cut short on a busy machine.
    public static func patient(_ url: String) async throws -> PostgresConnection {
        var configuration = try PostgresConfiguration(url: url)
        configuration.connectTimeout = .seconds(60)
        configuration.statementTimeout = .seconds(60)
        return try await connect(configuration)
    }
}
