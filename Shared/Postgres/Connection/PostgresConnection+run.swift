extension PostgresConnection {
    /// Runs one statement, and tells whoever wants to know (``PostgresConfiguration/onStatement``).
    ///
    /// - Parameters:
    ///   - commits: Whether COMMIT follows in the same packet.
    ///   - isShielded: Whether the task's cancellation is ignored: for the ends of transactions.
    func run(
        _ query: PostgresQuery, inTransaction: Bool = false, commits: Bool = false, deadline: ContinuousClock.Instant,
        isShielded: Bool = false
    ) async throws(PostgresError) -> PostgresResult {
        if let error = query.encodingError { throw error }
        let end = configuration.onStatement?(query.sql)
        do throws(PostgresError) {
            let result = try await send(
                query, inTransaction: inTransaction, commits: commits, deadline: deadline, isShielded: isShielded)
            end?(nil)
            return result
        } catch {
            end?(error.traceCode)
            throw error
        }
    }
}

extension PostgresError {
    /// What an observer is told: SQLSTATE, or the kind where the server gave none.
    var traceCode: String { sqlState?.description ?? code.description }
}
