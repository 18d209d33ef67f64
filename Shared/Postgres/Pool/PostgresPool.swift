public import CoreMetrics
public import Logging
public import ServiceLifecycle
import Synchronization

/// A pool of connections.
///
/// It opens connections when callers need them, up to a maximum, and can be used from anywhere at once. ``run()`` adds
/// what needs a clock: it keeps the minimum open, replaces old connections, and looks for a server that was away.
/// A statement that may have been run is never repeated: only its caller can know whether that is safe.
///
/// While the server cannot be reached callers are refused at once with an error that `isUnavailable`; attempts to
/// connect go on with growing pauses up to `maximumBackoff`, so that the pool can be used again soon after the server's
/// return.
public final class PostgresPool: PostgresQuerying, Service {
    typealias State = PoolState<PostgresConnection, Waiter>
    typealias Member = PoolMember<PostgresConnection>
    typealias Waiter = CheckedContinuation<Result<Member, PostgresError>, Never>

    let configuration: PostgresConfiguration
    private let pool: PostgresPoolConfiguration
    private let logger: Logger
    private let metrics: PoolMetrics
    private let state: Mutex<State>
    /// The server that took the last connection: tried first, so that one that hangs is not waited for each time.
    private let lastServer = Mutex<ServerAddress?>(nil)
    private let lastWaiter = Atomic<UInt64>(0)
    /// Whether a task is under way that ends the waiting of those whose time is over.
    private let isExpiring = Atomic(false)

    /// Makes a pool; it connects when it is first used, or when it is run.
    public init(
        configuration: PostgresConfiguration, pool: PostgresPoolConfiguration = PostgresPoolConfiguration(),
        logger: Logger = Logger(label: "postgres"), metricsFactory: (any MetricsFactory)? = nil
    ) {
        self.configuration = configuration
        self.pool = pool
        self.logger = logger
        metrics = PoolMetrics(pool: pool.name, factory: metricsFactory)
        state = Mutex(State(pool))
    }

    /// How many descriptors the pool has open at the most.
    public var maximumDescriptors: Int { pool.maximumConnections * PostgresConnection.descriptors }

    // MARK: Statements

    /// Runs one statement on a connection of the pool and returns its rows.
    ///
    /// - Parameter deadline: For waiting and running together; nil means the statement time-out from now.
    /// - Throws: ``PostgresError``.
    @discardableResult
    public func query(
        _ query: PostgresQuery, deadline: ContinuousClock.Instant?
    ) async throws(PostgresError) -> PostgresResult {
        let deadline = deadline ?? configuration.defaultDeadline
        while true {
            let member = try await acquire(until: deadline)
            defer { release(member) }
            do throws(PostgresError) {
                return try await member.connection.run(query, deadline: deadline)
            } catch {
                note(error)
                // The statement crossed the server's farewell on the way and was not run; anything else is the
                // caller's to decide.
                if error.sqlState != .idleSessionTimeout { throw error }
            }
        }
    }

    /// Lends a connection to `body`, for several statements on one session. It goes back to the pool unless it is left
    /// closed or in a transaction. Session settings, temporary tables and advisory locks are the body's to undo.
    ///
    /// - Parameter deadline: For waiting for the connection; statements have their own.
    /// - Throws: What `body` throws; ``PostgresError`` if there is no connection to be had.
    public func withConnection<Value: Sendable>(
        deadline: ContinuousClock.Instant? = nil, isolation: isolated (any Actor)? = #isolation,
        _ body: (PostgresConnection) async throws -> Value
    ) async throws -> Value {
        let member = try await acquire(until: deadline ?? configuration.defaultDeadline)
        defer { release(member) }
        do {
            return try await body(member.connection)
        } catch let error as PostgresError {
            note(error)
            throw error
        }
    }

    /// Runs `body` in a transaction: COMMIT when it returns, ROLLBACK when it throws or its task was cancelled.
    ///
    /// - Parameter deadline: For waiting for the connection and the transaction as a whole; nil means the statement
    ///   time-out from now.
    /// - Throws: What `body` throws; ``PostgresError`` if there is no connection, or the transaction cannot be
    ///   committed, with `outcomeIsUnknown` if it may have been; `CancellationError`.
    public func withTransaction<Value: Sendable>(
        deadline: ContinuousClock.Instant? = nil, isolation: isolated (any Actor)? = #isolation,
        _ body: (PostgresTransaction) async throws -> Value
    ) async throws -> Value {
        let deadline = deadline ?? configuration.defaultDeadline
        return try await withConnection(deadline: deadline) { connection in
            try await connection.withTransaction(deadline: deadline, body)
        }
    }

    /// Whether the server answers within a second, and takes writes if the configuration `needsPrimary`. For readiness
    /// checks.
    public func probe() async -> Bool {
        do {
            let answer = try await query(
                "SELECT NOT pg_is_in_recovery() AND current_setting('transaction_read_only') = 'off'",
                deadline: .now + .seconds(1))
            let takesWrites = try answer[0].decode(Bool.self)
            guard configuration.needsPrimary, !takesWrites else { return true }
            replaceConnections()
            return false
        } catch {
            return false
        }
    }

    /// Takes note of a failure. What refuses one write refuses all: another server is the primary now, which the other
    /// connections would learn one request after the other.
    private func note(_ error: PostgresError) {
        metrics.failed(error)
        if configuration.needsPrimary, error.sqlState == .readOnlyTransaction { replaceConnections() }
    }

    private func replaceConnections() {
        let members = state.withLock { $0.retire(now: .now) }
        if !members.isEmpty { logger.warning("PostgreSQL takes no writes: its connections are opened anew") }
        members.forEach(end)
        openConnections()
    }

    // MARK: Life

    /// Looks after the pool until the task is cancelled or the service shuts down gracefully, and then closes it:
    /// connections in use are closed when they come back.
    public func run() async {
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                let isFailing = self.maintain()
                try? await Task.sleep(for: isFailing ? .milliseconds(100) : .seconds(1))
            }
        }
        close()
    }

    /// Closes the idle connections, refuses new callers, and closes the other connections as they come back.
    public func close() {
        let (waiters, members) = state.withLock { $0.close() }
        for waiter in waiters { waiter.resume(returning: .failure(PostgresError(.closed, "the pool is closed"))) }
        members.forEach(end)
    }

    /// Returns whether the server is away.
    private func maintain() -> Bool {
        let now = ContinuousClock.now
        let (old, isFailing) = state.withLock { ($0.trim(now: now), $0.isFailing) }
        old.forEach(end)
        openConnections()
        state.withLock { metrics.record($0) }
        return isFailing
    }

    // MARK: Taking and giving back

    private func acquire(until deadline: ContinuousClock.Instant) async throws(PostgresError) -> Member {
        // What the server closed while nobody used it is thrown away here, before anything is sent on it.
        while let member = state.withLock({ $0.lease() }) {
            if member.connection.control.isIdleAndQuiet {
                metrics.acquired(after: .zero)
                return member
            }
            release(member, isReusable: false)
        }
        let start = ContinuousClock.now
        guard deadline > start else { throw PostgresError(.timedOut, "the deadline passed") }
        let end = configuration.onWait?()
        let id = lastWaiter.add(1, ordering: .relaxed).newValue
        let patience = min(deadline, start + pool.acquireTimeout)
        let outcome = await withTaskCancellationHandler {
            await withCheckedContinuation { waiter in
                admit(State.Waiting(id: id, deadline: patience, waiter: waiter), now: start)
                // The handler may have run before there was anybody to take out: then, or before this was called.
                if Task.isCancelled { cancel(waiting: id) }
            }
        } onCancel: {
            cancel(waiting: id)
        }
        metrics.acquired(after: .now - start)
        do throws(PostgresError) {
            let member = try outcome.get()
            end?(nil)
            return member
        } catch {
            end?(error.traceCode)
            metrics.failed(error)
            throw error
        }
    }

    private func cancel(waiting id: UInt64) {
        let waiter = state.withLock { $0.remove(waiting: id) }
        waiter?.resume(returning: .failure(PostgresError(.cancelled, "the task was cancelled")))
    }

    private func admit(_ waiting: State.Waiting, now: ContinuousClock.Instant) {
        let admission = state.withLock { $0.admit(waiting, now: now) }
        switch admission {
        case .leased(let member): waiting.waiter.resume(returning: .success(member))
        case .refused(let error): waiting.waiter.resume(returning: .failure(error))
        case .waits:
            openConnections()
            endWaitsInTime()
        }
    }

    private func release(_ member: Member) {
        release(member, isReusable: member.connection.control.status == .idle)
    }

    private func release(_ member: Member, isReusable: Bool) {
        let placement = state.withLock { $0.release(member, isReusable: isReusable, now: .now) }
        place(placement)
        if case .close = placement { openConnections() }
    }

    private func place(_ placement: State.Placement) {
        switch placement {
        case .handOver(let member, let waiter): waiter.resume(returning: .success(member))
        case .keep: break
        case .close(let member): end(member)
        }
    }

    private func end(_ member: Member) {
        Task { await member.connection.close() }
    }

    // MARK: Opening

    private func openConnections() {
        let number = state.withLock { $0.startOpening(now: .now) }
        for _ in 0..<number {
            Task { await self.openConnection() }
        }
    }

    private func openConnection() async {
        do throws(PostgresError) {
            let openedAt = ContinuousClock.now
            let (connection, server) = try await PostgresConnection.connect(
                configuration, preferring: lastServer.withLock(\.self))
            lastServer.withLock { $0 = server }
            do throws(PostgresError) {
                try await pool.check?(connection)
            } catch {
                await connection.close()
                throw error
            }
            let lifetime = pool.maximumAge * Double.random(in: 0.9...1)
            let member = PoolMember(connection: connection, openedAt: openedAt, expiresAt: .now + lifetime)
            place(state.withLock { $0.opened(member, now: .now) })
        } catch {
            metrics.failed(error)
            let jitter = Double.random(in: 0.5...1)
            let (isNew, waiters) = state.withLock {
                (!$0.isFailing, $0.openingFailed(error, now: .now, jitter: jitter))
            }
            if isNew { logger.warning("PostgreSQL cannot be reached", metadata: ["error": "\(error)"]) }
            waiters.forEach { $0.resume(returning: .failure(error)) }
        }
        // A failure or success changes how many more may be opened.
        openConnections()
        state.withLock { metrics.record($0) }
    }

    // MARK: Waiting

    /// Waits end to within 20 ms: one task for all who wait costs less than one for each.
    private func endWaitsInTime() {
        guard isExpiring.compareExchange(expected: false, desired: true, ordering: .relaxed).exchanged else { return }
        Task {
            while state.withLock({ !$0.waiting.isEmpty }) {
                try? await Task.sleep(for: .milliseconds(20))
                let waiters = state.withLock { $0.expire(now: .now) }
                let error = PostgresError(.poolExhausted, "no connection became free in time")
                waiters.forEach { $0.resume(returning: .failure(error)) }
            }
            isExpiring.store(false, ordering: .relaxed)
            // Somebody may have joined after the last look.
            if state.withLock({ !$0.waiting.isEmpty }) { endWaitsInTime() }
        }
    }
}
