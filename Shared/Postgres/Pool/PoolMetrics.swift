import GatehouseInstruments

/// The metrics of a pool:
/// - `postgres_pool_connections` by `state` (`idle`, `leased`, `opening`, `unanswered`) and `postgres_pool_waiting`:
///   counts, brought up to date each second while the pool is run and whenever a connection is opened;
/// - `postgres_pool_acquire_seconds`: how long callers waited for a connection;
/// - `postgres_errors_total` by `code` and `sqlstate`, which is empty where the server gave none.
struct PoolMetrics: Sendable {
    private let pool: String
    private let factory: (any MetricsFactory)?
    private let idle: Gauge
    private let leased: Gauge
    private let opening: Gauge
    private let unanswered: Gauge
    private let waiting: Gauge
    private let acquire: DurationHistogram

    init(pool: String, factory: (any MetricsFactory)?) {
        func connections(_ state: String) -> Gauge {
            Gauge(
                "postgres_pool_connections", help: "Connections of a pool, by what they do.",
                labels: [("pool", pool), ("state", state)], factory: factory)
        }
        self.pool = pool
        self.factory = factory
        idle = connections("idle")
        leased = connections("leased")
        opening = connections("opening")
        unanswered = connections("unanswered")
        waiting = Gauge(
            "postgres_pool_waiting", help: "Callers that wait for a connection of a pool.", labels: [("pool", pool)],
            factory: factory)
        acquire = DurationHistogram(
            "postgres_pool_acquire_seconds", help: "How long callers waited for a connection of a pool.",
            labels: [("pool", pool)], factory: factory)
        for code in PostgresError.Code.expected { _ = errors(code) }
    }

    func record(_ state: PostgresPool.State) {
        idle.set(state.idle.count)
        leased.set(state.leased)
        opening.set(state.opening)
        unanswered.set(state.unanswered.count)
        waiting.set(state.waiting.count)
    }

    func acquired(after wait: Duration) {
        acquire.record(wait)
    }

    func failed(_ error: PostgresError) {
        errors(error.code, error.sqlState).increment()
    }

    private func errors(_ code: PostgresError.Code, _ sqlState: SQLState? = nil) -> Counter {
        Counter(
            "postgres_errors_total", help: "Failures of PostgreSQL, or of reaching it, by their code.",
            labels: [("pool", pool), ("code", code.description), ("sqlstate", sqlState?.description ?? "")],
            factory: factory)
    }
}

extension PostgresError.Code {
    /// The errors of a server, a network or a load, not of a defect in the program. Their counters start at 0, so that
    /// the first error is visible.
    fileprivate static let expected: [Self] = [
        .connectionFailed, .connectionLost, .timedOut, .poolExhausted, .server, .transactionAborted,
    ]
}
