import Metrics

/// What a pool tells about itself:
/// - `postgres_pool_connections` by `state` (`idle`, `leased`, `opening`) and `postgres_pool_waiting`: counts, brought
///   up to date each second while the pool is run and whenever a connection is opened;
/// - `postgres_pool_acquire_seconds`: how long callers waited for a connection;
/// - `postgres_errors_total` by `code`.
struct PoolMetrics: Sendable {
    private let pool: String
    private let factory: any MetricsFactory
    private let idle: Gauge
    private let leased: Gauge
    private let opening: Gauge
    private let waiting: Gauge
    private let acquire: Metrics.Timer

    init(pool: String, factory: any MetricsFactory) {
        func connections(_ state: String) -> Gauge {
            Gauge(label: "postgres_pool_connections", dimensions: [("pool", pool), ("state", state)], factory: factory)
        }
        self.pool = pool
        self.factory = factory
        idle = connections("idle")
        leased = connections("leased")
        opening = connections("opening")
        waiting = Gauge(label: "postgres_pool_waiting", dimensions: [("pool", pool)], factory: factory)
        acquire = Metrics.Timer(label: "postgres_pool_acquire_seconds", dimensions: [("pool", pool)], factory: factory)
    }

    func record(_ state: PostgresPool.State) {
        idle.record(state.idle.count)
        leased.record(state.leased)
        opening.record(state.opening)
        waiting.record(state.waiting.count)
    }

    func acquired(after wait: Duration) {
        let (seconds, attoseconds) = wait.components
        acquire.recordNanoseconds(seconds * 1_000_000_000 + attoseconds / 1_000_000_000)
    }

    func failed(_ error: PostgresError) {
        let dimensions = [("pool", pool), ("code", error.code.description)]
        Counter(label: "postgres_errors_total", dimensions: dimensions, factory: factory).increment()
    }
}
