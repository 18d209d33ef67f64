/// Something that runs statements: a pool, a connection or a transaction.
public protocol PostgresQuerying: Sendable {
    /// Runs one statement and returns its rows.
    ///
    /// - Parameters:
    ///   - query: The statement with its parameters.
    ///   - deadline: When to give up; nil means the configured statement time-out from now.
    ///     A statement whose deadline has passed is not sent.
    /// - Throws: ``PostgresError``; after `timedOut` or `cancelled` the connection it ran on is gone.
    @discardableResult
    func query(
        _ query: PostgresQuery, deadline: ContinuousClock.Instant?
    ) async throws(PostgresError) -> PostgresResult
}

extension PostgresQuerying {
    /// Runs one statement within the configured statement time-out and returns its rows.
    @discardableResult
    public func query(_ query: PostgresQuery) async throws(PostgresError) -> PostgresResult {
        try await self.query(query, deadline: nil)
    }
}
