public import CoreMetrics
import GatehouseLimits
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
    typealias Lease = PoolLease<PostgresConnection>
    typealias Waiter = CheckedContinuation<Result<Lease, PostgresError>, Never>

    let configuration: PostgresConfiguration
    private let pool: PostgresPoolConfiguration
    private let logger: Logger
    private let metrics: PoolMetrics
    private let state: Mutex<State>
    private let lastID = Atomic<UInt64>(0)
    /// What waits for the answers to statements that were given up, by the connection's number.
    private let drains = Mutex<[UInt64: Task<Void, Never>]>([:])
    /// Whether a task is running that ends expired waits.
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

    /// The most descriptors that the pool has open: one more connection while it searches another server.
    public var maximumDescriptors: Int { (pool.maximumConnections + 1) * PostgresConnection.descriptors }

    // MARK: Statements

    /// Runs one statement on a connection of the pool and returns its rows.
    ///
    /// - Parameter deadline: For waiting and running together; nil means the current work's deadline or, without one,
    ///   the statement time-out from now.
    /// - Throws: ``PostgresError``.
    @discardableResult
    public func query(
        _ query: PostgresQuery, deadline: ContinuousClock.Instant?
    ) async throws(PostgresError) -> PostgresResult {
        try await self.query(query, deadline: deadline, usesReserve: false)
    }

    /// Runs one statement, if need be on a connection that is reserved for readiness checks and feeds
    /// (``PostgresPoolConfiguration/reservedConnections``): when requests hold all others. Not for statements of which
    /// a client could make many.
    @discardableResult
    public func query(
        _ query: PostgresQuery, deadline: ContinuousClock.Instant? = nil, usesReserve: Bool
    ) async throws(PostgresError) -> PostgresResult {
        let deadline = deadline ?? configuration.defaultDeadline
        while true {
            let lease = try await acquire(until: deadline, usesReserve: usesReserve)
            defer { release(lease) }
            do throws(PostgresError) {
                return try await lease.member.connection.run(query, deadline: deadline)
            } catch {
                note(error, of: lease)
                // The server had closed the idle session before the statement arrived, so the statement was not run.
                // The caller decides about all other failures.
                if error.sqlState != .idleSessionTimeout { throw error }
            }
        }
    }

    /// Lends a connection to `body`, for several statements on one session. It goes back to the pool unless it is left
    /// closed or in a transaction. Session settings, temporary tables and advisory locks are the body's to undo.
    ///
    /// - Parameters:
    ///   - deadline: For waiting for the connection; statements have their own. nil means as for a statement.
    ///   - usesReserve: As in ``query(_:deadline:usesReserve:)``.
    /// - Throws: What `body` throws; ``PostgresError`` if there is no connection to be had.
    public func withConnection<Value: Sendable>(
        deadline: ContinuousClock.Instant? = nil, usesReserve: Bool = false,
        isolation: isolated (any Actor)? = #isolation, _ body: (PostgresConnection) async throws -> Value
    ) async throws -> Value {
        let lease = try await acquire(until: deadline ?? configuration.defaultDeadline, usesReserve: usesReserve)
        defer { release(lease) }
        do {
            return try await body(lease.member.connection)
        } catch let error as PostgresError {
            note(error, of: lease)
            throw error
        }
    }

    /// Runs `body` in a transaction: COMMIT when it returns, ROLLBACK when it throws or its task was cancelled.
    ///
    /// - Parameters:
    ///   - deadline: For waiting for the connection and the transaction as a whole; nil means as for a statement.
    ///   - usesReserve: As in ``query(_:deadline:usesReserve:)``.
    /// - Throws: What `body` throws; ``PostgresError`` if there is no connection, or the transaction cannot be
    ///   committed, with `outcomeIsUnknown` if it may have been; `CancellationError`.
    public func withTransaction<Value: Sendable>(
        deadline: ContinuousClock.Instant? = nil, usesReserve: Bool = false,
        isolation: isolated (any Actor)? = #isolation, _ body: (PostgresTransaction) async throws -> Value
    ) async throws -> Value {
        let deadline = deadline ?? configuration.defaultDeadline
        return try await withConnection(deadline: deadline, usesReserve: usesReserve) { connection in
            try await connection.withTransaction(deadline: deadline, body)
        }
    }

    /// Whether the server answers within a second, and takes writes if the configuration `needsPrimary`. For readiness
    /// checks: a pool whose connections are all in use is ready.
    public func probe() async -> Bool {
        let deadline = ContinuousClock.now + .seconds(1)
        do throws(PostgresError) {
            let lease = try await acquire(until: deadline, usesReserve: true)
            defer { release(lease) }
            do throws(PostgresError) {
                let answer = try await lease.member.connection.run(
                    "SELECT NOT pg_is_in_recovery() AND current_setting('transaction_read_only') = 'off'",
                    deadline: deadline)
                let takesWrites = try answer[0].decode(Bool.self)
                guard configuration.needsPrimary, !takesWrites else { return true }
                replaceConnections(to: lease.member.server)
                return false
            } catch {
                note(error, of: lease)
                return false
            }
        } catch {
            return error.code == .poolExhausted
        }
    }

    /// Records a failure. A server that refuses one write refuses all, because another server is the primary now.
    /// Without this, each of the other connections would fail a request first.
    private func note(_ error: PostgresError, of lease: Lease) {
        metrics.failed(error)
        if configuration.needsPrimary, error.sqlState == .readOnlyTransaction {
            replaceConnections(to: lease.member.server)
        }
    }

    private func replaceConnections(to server: ServerInstance) {
        let closed = update { $0.retire(server, now: .now) }.closing
        if !closed.isEmpty { logger.warning("PostgreSQL takes no writes: its connections are opened anew") }
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
        update { $0.close() }
    }

    /// Returns whether the server is unavailable.
    private func maintain() -> Bool {
        update { $0.maintain(now: .now) }
        return state.withLock { state in
            metrics.record(state)
            return state.isFailing
        }
    }

    /// Changes the state, and performs the resulting actions.
    @discardableResult
    private func update(_ change: (inout State) -> State.Effects) -> State.Effects {
        let effects = state.withLock { change(&$0) }
        for (lease, waiter) in effects.leases { waiter.resume(returning: .success(lease)) }
        for (waiter, error) in effects.refusals { waiter.resume(returning: .failure(error)) }
        if effects.isSilent { logger.warning("PostgreSQL is silent: its connections are opened anew") }
        effects.closing.forEach(end)
        effects.draining.forEach(drain)
        for member in effects.undraining { drains.withLock { $0[member.id] }?.cancel() }
        if let opening = effects.opening {
            for _ in 0..<opening.number {
                Task { await self.openConnection(opening.servers, isSearch: false) }
            }
        }
        if let servers = effects.search { Task { await self.openConnection(servers, isSearch: true) } }
        return effects
    }

    private func end(_ member: Member) {
        Task { await member.connection.close() }
    }

    private func drain(_ member: Member) {
        drains.withLock { drains in
            drains[member.id] = Task {
                let heardAt = await member.connection.drain()
                self.drains.withLock { $0[member.id] = nil }
                self.update { $0.drained(member, heardAt: heardAt, now: .now) }
            }
        }
        // It may have been given up before there was a task to cancel.
        if !state.withLock({ $0.isUnanswered(member) }) { drains.withLock { $0[member.id] }?.cancel() }
    }

    // MARK: Leasing

    private func acquire(
        until deadline: ContinuousClock.Instant, usesReserve: Bool
    ) async throws(PostgresError) -> Lease {
        // Idle connections that the server has closed are discarded here, before a statement is sent on them.
        while let lease = state.withLock({ $0.lease(usesReserve: usesReserve) }) {
            if lease.member.connection.control.isIdleAndQuiet {
                metrics.acquired(after: .zero)
                return lease
            }
            release(lease, isClosed: true)
        }
        let start = ContinuousClock.now
        guard deadline > start else { throw PostgresError(.timedOut, "the deadline passed") }
        let end = configuration.onWait?()
        let id = lastID.add(1, ordering: .relaxed).newValue
        let timeout = min(deadline, start + pool.acquireTimeout)
        let outcome = await withTaskCancellationHandler {
            await withCheckedContinuation { waiter in
                let caller = State.Waiting(id: id, deadline: timeout, usesReserve: usesReserve, waiter: waiter)
                update { $0.admit(caller, now: start) }
                endWaitsInTime()
                // The cancellation handler may have run before this caller was admitted.
                if Task.isCancelled { cancel(waiting: id) }
            }
        } onCancel: {
            cancel(waiting: id)
        }
        metrics.acquired(after: .now - start)
        do throws(PostgresError) {
            let lease = try outcome.get()
            end?(nil)
            return lease
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

    private func release(_ lease: Lease, isClosed: Bool = false) {
        var report = lease.member.connection.control.report
        if isClosed { report.status = .closed }
        update { $0.release(lease, report, now: .now) }
    }

    // MARK: Opening

    private func openConnection(_ servers: ServerOrder, isSearch: Bool) async {
        do throws(PostgresError) {
            let openedAt = ContinuousClock.now
            let (connection, server) = try await PostgresConnection.connect(configuration, in: servers, isDrained: true)
            do throws(PostgresError) {
                if let check = pool.check {
                    // The connection outlives the work that it is opened for, whose deadline must not end the check.
                    try await Deadline.with(nil) { () throws(PostgresError) in try await check(connection) }
                }
            } catch {
                await connection.close()
                throw error
            }
            let lifetime = pool.maximumAge * Double.random(in: 0.9...1)
            let member = Member(
                id: lastID.add(1, ordering: .relaxed).newValue, connection: connection, server: server,
                openedAt: openedAt, expiresAt: .now + lifetime)
            update { $0.opened(member, isSearch: isSearch, now: .now) }
        } catch {
            metrics.failed(error)
            let jitter = Double.random(in: 0.5...1)
            let wasFailing = state.withLock(\.isFailing)
            update { $0.openingFailed(error, isSearch: isSearch, now: .now, jitter: jitter) }
            if !wasFailing { logger.warning("PostgreSQL cannot be reached", metadata: ["error": "\(error)"]) }
        }
        state.withLock { metrics.record($0) }
    }

    // MARK: Waiting

    /// Waits end to within 20 ms: one task for all who wait costs less than one for each.
    private func endWaitsInTime() {
        guard state.withLock({ !$0.waiting.isEmpty }),
            isExpiring.compareExchange(expected: false, desired: true, ordering: .relaxed).exchanged
        else { return }
        Task {
            while state.withLock({ !$0.waiting.isEmpty }) {
                try? await Task.sleep(for: .milliseconds(20))
                update { $0.expire(now: .now) }
            }
            isExpiring.store(false, ordering: .relaxed)
            // A caller may have joined after the last check.
            endWaitsInTime()
        }
    }
}

/// How many connections a pool keeps, for how long, and how long callers wait for one.
public struct PostgresPoolConfiguration: Sendable {
    /// The pool's name in metrics.
    public var name = "default"
    /// Connections that are kept open even without use; default 0. Kept while the pool is run.
    public var minimumConnections = 0
    /// The most connections that are open at once; 16 unless set. One whose caller gave up before the answer counts
    /// until the server has answered.
    public var maximumConnections = 16
    /// The reserve of these that requests may not use; default 0. Readiness checks and feeds use it, because they must
    /// continue while requests hold all other connections.
    public var reservedConnections = 0
    /// The age at which a connection is replaced, up to a tenth earlier so that not all are replaced at once; 30 min
    /// unless set.
    public var maximumAge: Duration = .seconds(1800)
    /// How long a connection beyond the minimum may lie idle; 5 min unless set.
    public var idleTimeout: Duration = .seconds(300)
    /// How many callers may wait for a connection; 256 unless set. The next one is refused at once.
    public var queueLimit = 256
    /// How long a caller waits for a connection, if its deadline is not earlier; 1 s unless set.
    public var acquireTimeout: Duration = .seconds(1)
    /// The pause after the first failure to connect; doubled with each further one, times 0.5 to 1 at random.
    public var minimumBackoff: Duration = .milliseconds(50)
    /// The longest pause between attempts to connect; 0.5 s unless set.
    public var maximumBackoff: Duration = .milliseconds(500)

    /// How long a statement stays unanswered, with no byte from the server on any connection, until all its connections
    /// are replaced; 0.75 s unless set. Found when a caller gives up.
    public var silenceLimit: Duration = .milliseconds(750)

    /// A check of each new connection before its first use; default none. If it throws, the connection is closed, as if
    /// it could not have been opened.
    public var check: (@Sendable (PostgresConnection) async throws(PostgresError) -> Void)?

    /// The defaults.
    public init() {}
}
