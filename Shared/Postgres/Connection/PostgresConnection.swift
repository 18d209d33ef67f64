import CLibpq

/// One connection to PostgreSQL.
///
/// It waits for the server on a thread of its own, never on those that Swift's tasks share. Calls from several tasks
/// run one after another. A call that is cancelled or runs out of time while the server works ends the connection,
/// because the next bytes on it may belong to that call. Every later call throws `closed`.
public actor PostgresConnection: PostgresQuerying {
    /// The connection's own thread.
    public nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }
    nonisolated let configuration: PostgresConfiguration
    nonisolated let control: ConnectionControl
    private nonisolated let thread = ConnectionThread()
    private var libpq: LibpqConnection?
    /// The connection of a call that was given up before the server answered. It stays open for ``drain()``.
    private var unanswered: LibpqConnection?
    /// Whether the owner calls ``drain()``. Otherwise the connection closes when a call is given up.
    private let isDrained: Bool
    private var statements: StatementCache
    /// Sent before each transaction behind a pooler, because other clients use the session in between.
    private let transactionSettings: PostgresQuery?
    /// Sent before the first statement of a transaction, and before a statement outside of transactions.
    private let transactionStart: [PostgresQuery]
    private let statementStart: [PostgresQuery]
    private var lastOperation: UInt64 = 0

    private init(_ configuration: PostgresConfiguration, isDrained: Bool) throws(PostgresError) {
        control = try ConnectionControl()
        self.isDrained = isDrained
        self.configuration = configuration
        let settings = configuration.transactionSettings
        transactionSettings = settings
        statementStart = [settings].compactMap(\.self)
        transactionStart = [Self.begin] + [settings].compactMap(\.self)
        statements = StatementCache(
            limit: configuration.pooler == .transaction ? 0 : configuration.preparedStatementLimit)
        try thread.start()
    }

    deinit {
        thread.stop()
    }

    /// Opens a connection.
    ///
    /// - Throws: ``PostgresError`` with code `connectionFailed`, `timedOut` (after `connectTimeout`) or `cancelled`.
    public static func connect(_ configuration: PostgresConfiguration) async throws(PostgresError) -> PostgresConnection
    {
        try await connect(configuration, in: ServerOrder(), isDrained: false).connection
    }

    /// Opens a connection to the first server that answers.
    ///
    /// - Parameter isDrained: whether the caller will ``drain()`` the connection after a call was given up.
    static func connect(
        _ configuration: PostgresConfiguration, in order: ServerOrder, isDrained: Bool
    ) async throws(PostgresError) -> (connection: PostgresConnection, server: ServerInstance) {
        let deadline = ContinuousClock.now + configuration.connectTimeout
        let servers = order.applied(
            to: try await ServerNames.shared.resolve(configuration.servers, until: deadline))
        let connection = try PostgresConnection(configuration, isDrained: isDrained)
        return (connection, try await connection.open(servers, until: deadline))
    }

    /// The most descriptors that a connection has open: its socket, and the pipe that wakes it.
    static let descriptors = 3

    /// Whether the connection has ended, by ``close()`` or by a failure.
    public nonisolated var isClosed: Bool { [.closed, .unanswered].contains(control.status) }

    /// After the calls that have returned: whether the connection is open and in no transaction.
    nonisolated var isIdle: Bool { control.status == .idle }

    /// Ends the connection after the calls before it. Repeated calls have no effect.
    public func close() {
        (libpq, unanswered) = (nil, nil)
        control.end(.closed)
    }

    /// Waits until the server has answered the call that was given up, then closes the connection. Cancelling the task
    /// closes it at once. In both cases the server continues the statement.
    ///
    /// - Returns: When the last byte arrived.
    func drain() async -> ContinuousClock.Instant {
        let end = ContinuousClock.now + .seconds(1_000_000_000)
        if let unanswered {
            try? await supervise(until: end) { () throws(PostgresError) in try unanswered.drain(until: end) }
        }
        let heardAt = unanswered?.heardAt ?? control.report.heardAt
        close()
        return heardAt
    }

    /// Runs one statement, prepared at its first use, and returns its rows.
    ///
    /// - Parameter deadline: When to give up; nil means the current work's deadline or, without one, a quarter of a
    ///   second after the statement time-out.
    /// - Throws: ``PostgresError``.
    @discardableResult
    public func query(
        _ query: PostgresQuery, deadline: ContinuousClock.Instant?
    ) async throws(PostgresError) -> PostgresResult {
        try await run(query, deadline: deadline ?? configuration.defaultDeadline)
    }

    /// Runs a script of one or several statements without parameters, separated by semicolons.
    ///
    /// - Throws: ``PostgresError``; without BEGIN in the script nothing of it has then taken effect.
    public func execute(
        script: String, deadline: ContinuousClock.Instant? = nil
    ) async throws(PostgresError) {
        let deadline = deadline ?? configuration.defaultDeadline
        try await operate(until: deadline) { libpq throws(PostgresError) in
            try libpq.sendScript(transactionSettings.map { "\($0.sql); \(script)" } ?? script)
            var failure: PostgresError?
            _ = try receive(from: libpq, until: deadline, failure: &failure)
            if libpq.status != .closed { try libpq.endScript() }
            if let failure { throw libpq.status == .closed ? failure.endingConnection : failure }
        }
    }

    /// Runs a statement of `transaction`, with BEGIN before it in the same packet if none has been sent.
    ///
    /// - Parameter commits: Whether COMMIT follows in the same packet.
    func query(
        _ query: PostgresQuery, in transaction: PostgresTransaction, commits: Bool = false,
        deadline: ContinuousClock.Instant
    ) async throws(PostgresError) -> PostgresResult {
        try transaction.enter()
        return try await run(
            query, inTransaction: true, commits: commits, deadline: deadline, isShielded: commits)
    }

    /// As ``run(_:inTransaction:commits:deadline:isShielded:)``, without calling the observer.
    func send(
        _ query: PostgresQuery, inTransaction: Bool, commits: Bool, deadline: ContinuousClock.Instant,
        isShielded: Bool
    ) async throws(PostgresError) -> PostgresResult {
        try await operate(until: deadline, isShielded: isShielded) { libpq throws(PostgresError) in
            let wasIdle = libpq.status == .idle
            let batch = wasIdle ? (inTransaction ? transactionStart : statementStart) + [query] : [query]
            do throws(PostgresError) {
                return try exchange(batch, commits: commits, with: libpq, until: deadline)
            } catch {
                switch error.sqlState {
                // If one statement is missing, usually all are (DEALLOCATE ALL, DISCARD ALL).
                case .invalidStatementName?: statements.removeAll()
                // A table of the statement has changed.
                case .featureNotSupported?: batch.forEach { statements.remove($0) }
                default: throw error
                }
                // Prepares and runs the statement once more, if the failed attempt had no effect.
                guard wasIdle else { throw error }
                if libpq.status == .inTransaction { _ = try exchange([Self.rollback], with: libpq, until: deadline) }
                return try exchange(batch, commits: commits, with: libpq, until: deadline)
            }
        }
    }

    static let begin: PostgresQuery = "BEGIN"
    static let commit: PostgresQuery = "COMMIT"
    static let rollback: PostgresQuery = "ROLLBACK"

    // MARK: On the wire

    /// Runs `body` on the open connection, and closes it if `body` leaves it in an unknown state.
    private func operate<Value>(
        until deadline: ContinuousClock.Instant, isShielded: Bool = false,
        _ body: (LibpqConnection) throws(PostgresError) -> Value
    ) async throws(PostgresError) -> Value {
        guard let libpq else { throw PostgresError(.closed, "the connection is closed") }
        return try await supervise(until: deadline, isShielded: isShielded) { () throws(PostgresError) in
            try body(libpq)
        }
    }

    /// Opens the connection to the first suitable server. Each attempt gets its share of the time.
    private func open(
        _ servers: [ServerAddress], until deadline: ContinuousClock.Instant
    ) async throws(PostgresError) -> ServerInstance {
        try await supervise(until: deadline) { () throws(PostgresError) in
            var failures: [PostgresError] = []
            for (index, server) in servers.enumerated() {
                let now = ContinuousClock.now
                do throws(PostgresError) {
                    let startedAt = try open(server, until: now + (deadline - now) / (servers.count - index))
                    return ServerInstance(address: server, startedAt: startedAt)
                } catch {
                    libpq = nil
                    failures.append(error)
                    // As in libpq: another server would refuse the credentials too, and count the attempt.
                    if error.code == .cancelled || error.sqlState?.classCode == "28" { break }
                }
            }
            throw PostgresError(connecting: failures)
        }
    }

    /// Returns when the server was started.
    private func open(_ server: ServerAddress, until deadline: ContinuousClock.Instant) throws(PostgresError) -> Int64 {
        let libpq = try LibpqConnection(configuration, to: server, control: control)
        try libpq.connect(until: deadline)
        self.libpq = libpq
        let session = PostgresQuery(
            unsafe: """
                SELECT NOT pg_is_in_recovery() AND current_setting('transaction_read_only') = 'off',
                    current_setting('\(PostgresConfiguration.markName)', true),
                    (extract(epoch FROM pg_postmaster_start_time()) * 1000000)::bigint
                """)
        let row = try exchange([session], with: libpq, until: deadline, isPrepared: false)[0]
        let (takesWrites, mark, startedAt) = try row.decode((Bool, String?, Int64).self)
        if configuration.pooler == .none, mark != libpq.mark {
            throw PostgresError(.connectionFailed, PostgresError.unknownPooler, reason: .unknownPooler)
        }
        if configuration.needsPrimary, !takesWrites {
            throw PostgresError(
                .connectionFailed, "the server at \(server.host ?? "its socket") takes no writes",
                sqlState: .readOnlyTransaction)
        }
        return startedAt
    }

    /// Runs `body`, which may block this thread. Cancelling the task interrupts the wait.
    private func supervise<Value>(
        until deadline: ContinuousClock.Instant, isShielded: Bool = false,
        _ body: () throws(PostgresError) -> Value
    ) async throws(PostgresError) -> Value {
        guard isShielded || !Task.isCancelled else { throw PostgresError(.cancelled, "the task was cancelled") }
        let now = ContinuousClock.now
        guard deadline > now else {
            throw PostgresError(.timedOut, "the deadline passed before the statement was sent")
        }
        lastOperation += 1
        let operation = lastOperation
        control.begin(operation, at: now)
        let outcome: Result<Value, PostgresError>
        if isShielded {
            outcome = Result(catching: body)
        } else {
            outcome = await withTaskCancellationHandler {
                // Refers to the actor. Otherwise the closure would run on the threads that all tasks share.
                self.assertIsolated()
                return Result(catching: body)
            } onCancel: { [control] in
                control.interrupt(operation)
            }
        }
        let heardAt = libpq?.heardAt
        if case .failure(let error) = outcome, error.endsSession {
            if isDrained, error.isGivenUp, libpq?.isUnanswered == true { unanswered = libpq }
            libpq = nil
        }
        if libpq?.status == .closed { libpq = nil }
        let status = libpq?.status ?? (unanswered == nil ? .closed : .unanswered)
        control.end(status, socket: libpq?.socket ?? -1, heardAt: heardAt)
        return try outcome.get()
    }

    /// Sends the statements of `batch` in one packet and returns the result of the last.
    ///
    /// - Parameter commits: Whether COMMIT follows them.
    private func exchange(
        _ batch: [PostgresQuery], commits: Bool = false, with libpq: LibpqConnection,
        until deadline: ContinuousClock.Instant, isPrepared: Bool = true
    ) throws(PostgresError) -> PostgresResult {
        let place = batch.count - 1
        let batch = commits ? batch + [Self.commit] : batch
        var plans: [StatementCache.Plan] = []
        for query in batch {
            let plan = isPrepared ? statements.plan(for: query) : .unprepared
            plans.append(plan)
            switch plan {
            case .prepared(let name):
                try libpq.sendExecute(name, query)
            case .prepare(let name):
                try libpq.sendPrepare(name, query)
                try libpq.sendExecute(name, query)
            case .unprepared:
                try libpq.sendExecute(nil, query)
            }
        }
        try libpq.sync()

        var failure: PostgresError?
        var answer: ResultStorage?
        do throws(PostgresError) {
            for (index, (query, plan)) in zip(batch, plans).enumerated() {
                if case .prepare(let name) = plan,
                    try receive(from: libpq, until: deadline, failure: &failure) != nil
                {
                    statements.add(query, as: name)
                }
                let result = try receive(from: libpq, until: deadline, failure: &failure)
                if index == place { answer = result }
            }
            guard try libpq.nextResult(until: deadline)?.status == PGRES_PIPELINE_SYNC else {
                throw PostgresError(.connectionLost, "the connection ended", outcomeIsUnknown: true)
            }
        } catch {
            // The server's last message before the disconnect is more specific.
            throw failure?.endingConnection ?? error
        }
        if let failure { throw failure }
        guard let answer else { throw PostgresError(.connectionLost, "no result", outcomeIsUnknown: true) }
        return PostgresResult(answer)
    }

    /// Reads the results of one statement or script, and returns the last unless one failed.
    private func receive(
        from libpq: LibpqConnection, until deadline: ContinuousClock.Instant, failure: inout PostgresError?
    ) throws(PostgresError) -> ResultStorage? {
        var last: ResultStorage?
        while let result = try libpq.nextResult(until: deadline) {
            switch result.status {
            case PGRES_COMMAND_OK, PGRES_TUPLES_OK, PGRES_EMPTY_QUERY:
                last = result
            case PGRES_PIPELINE_ABORTED:
                last = nil
            case PGRES_COPY_IN, PGRES_COPY_OUT, PGRES_COPY_BOTH:
                throw PostgresError(.connectionLost, "COPY is not supported")
            default:
                last = nil
                failure = failure ?? result.error
                if failure?.code == .connectionLost { throw failure! }
            }
        }
        return last
    }
}

extension PostgresConnection {
    /// Runs one statement, and calls the observer (``PostgresConfiguration/onStatement``).
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
    /// The error for an observer: SQLSTATE, or the kind if the server gave none.
    var traceCode: String { sqlState?.description ?? code.description }
}
