import Synchronization

/// A transaction in progress, on which the body of `withTransaction` runs its statements.
///
/// BEGIN is sent with the first statement. So a transaction costs one round trip more than its statements, for COMMIT,
/// and one without statements costs none. ``commit(after:)`` saves the round trip of COMMIT. After the body has
/// returned, the transaction refuses statements.
public final class PostgresTransaction: PostgresQuerying {
    private enum State {
        case unused
        /// A statement was passed to the connection, which may not have sent it.
        case used
        case ended
    }

    private let connection: PostgresConnection
    private let deadline: ContinuousClock.Instant
    private let state = Mutex(State.unused)

    init(on connection: PostgresConnection, deadline: ContinuousClock.Instant) {
        self.connection = connection
        self.deadline = deadline
    }

    /// Runs one statement and returns its rows. `deadline` cannot be later than that of the transaction.
    ///
    /// - Throws: ``PostgresError``. After an error of the server the transaction can only be rolled back: let the error
    ///   leave the body.
    @discardableResult
    public func query(
        _ query: PostgresQuery, deadline: ContinuousClock.Instant?
    ) async throws(PostgresError) -> PostgresResult {
        try await connection.query(query, in: self, deadline: min(deadline ?? self.deadline, self.deadline))
    }

    /// Called on the connection's thread before each statement.
    func enter() throws(PostgresError) {
        let hasEnded = state.withLock { state in
            if state == .unused { state = .used }
            return state == .ended
        }
        if hasEnded { throw PostgresError(.closed, "the transaction has ended") }
    }

    /// Runs the last statement and commits, in one round trip. The transaction then accepts no more statements.
    ///
    /// Cancelling the task does not stop it, because the outcome of a COMMIT must be known.
    ///
    /// - Throws: ``PostgresError``, with `outcomeIsUnknown` if it may have been committed. If the statement has failed,
    ///   nothing is committed.
    public func commit(after query: PostgresQuery) async throws(PostgresError) -> PostgresResult {
        let result = try await connection.query(query, in: self, commits: true, deadline: deadline)
        state.withLock { $0 = .ended }
        return result
    }

    /// Cancellation does not stop a COMMIT: its outcome would be unknown.
    func commit() async throws(PostgresError) {
        // Where no statement was sent, neither was BEGIN.
        guard end(), !connection.isIdle else { return }
        let result = try await connection.run(PostgresConnection.commit, deadline: deadline, isShielded: true)
        guard result.commandTag == "COMMIT" else {
            throw PostgresError(
                .transactionAborted, "the body returned although a statement had failed; nothing was committed")
        }
    }

    /// If this fails, the connection is left in a transaction, and its owner closes it.
    func rollback() async {
        guard end(), !connection.isIdle, !connection.isClosed else { return }
        _ = try? await connection.run(
            PostgresConnection.rollback, deadline: .now + .seconds(1), isShielded: true)
    }

    fileprivate var hasEnded: Bool { state.withLock { $0 == .ended } }

    /// Returns whether BEGIN may have been sent.
    private func end() -> Bool {
        state.withLock { state in
            defer { state = .ended }
            return state == .used
        }
    }
}

extension PostgresConnection {
    /// Runs `body` in a transaction: COMMIT when it returns, ROLLBACK when it throws or its task was cancelled.
    ///
    /// The connection must not be used for anything else meanwhile.
    ///
    /// - Parameter deadline: For the transaction as a whole; nil means the current work's deadline or, without one, the
    ///   statement time-out from now.
    /// - Throws: What `body` throws; ``PostgresError`` if the transaction cannot be committed, with `outcomeIsUnknown`
    ///   if it may have been; `CancellationError`.
    public func withTransaction<Value: Sendable>(
        deadline: ContinuousClock.Instant? = nil, isolation: isolated (any Actor)? = #isolation,
        _ body: (PostgresTransaction) async throws -> Value
    ) async throws -> Value {
        let transaction = PostgresTransaction(on: self, deadline: deadline ?? configuration.defaultDeadline)
        let value: Value
        do {
            value = try await body(transaction)
            if !transaction.hasEnded { try Task.checkCancellation() }
        } catch {
            await transaction.rollback()
            throw error
        }
        try await transaction.commit()
        return value
    }
}
