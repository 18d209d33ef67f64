import Metrics
import MetricsTestKit
import Postgres
import TestKit
import Testing

@Suite struct PoolMetricsTests {
    @Test func aPoolTellsHowItIs() async throws {
        try await withDatabase { database in
            let metrics = TestMetrics()
            var limits = PostgresPoolConfiguration.patient
            (limits.name, limits.minimumConnections) = ("test", 2)
            let pool = PostgresPool(
                configuration: try .patient(database.url), pool: limits, metricsFactory: metrics)
            let running = Task { await pool.run() }
            try await eventually("two connections are idle") {
                try metrics.expectMeter("postgres_pool_connections", [("pool", "test"), ("state", "idle")]).lastValue
                    == 2
            }
            try await pool.query("SELECT 1")
            await #expect(throws: PostgresError.self) { try await pool.query("SELECT 1/0") }
            let acquired = try metrics.expectTimer("postgres_pool_acquire_seconds", [("pool", "test")])
            #expect(acquired.values.count == 2)
            let errors = try metrics.expectCounter(
                "postgres_errors_total", [("pool", "test"), ("code", "server"), ("sqlstate", "22012")])
            #expect(errors.totalValue == 1)
            #expect(try metrics.expectMeter("postgres_pool_waiting", [("pool", "test")]).lastValue == 0)
            running.cancel()
            await running.value
        }
    }
}
