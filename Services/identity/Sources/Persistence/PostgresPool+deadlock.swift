import Postgres

extension PostgresPool {
    /// Runs a transaction, and runs it again when PostgreSQL has ended it to resolve a deadlock: nothing of it has
    /// happened then.
    ///
    /// The order of locks (see ``AccountStore``) leaves one deadlock: two users who take an address from each other at
    /// the same moment.
    func withRetriedTransaction<Value: Sendable>(
        deadline: ContinuousClock.Instant? = nil, _ body: (PostgresTransaction) async throws -> Value
    ) async throws -> Value {
        for _ in 0..<2 {
            do {
                return try await withTransaction(deadline: deadline, body)
            } catch let error as PostgresError where error.sqlState == .deadlockDetected {
                // The other transaction has to go on before this one takes the same locks again.
                try await Task.sleep(for: .milliseconds(.random(in: 10...50)))
            }
        }
        return try await withTransaction(deadline: deadline, body)
    }
}
