import Foundation
import MetricsTestKit
import Postgres
import TestKit
import Testing

@testable import TokensService

@Suite struct PreparedTransactionWatchTests {
    @Test func whatWasForgottenIsNamedOnce() async throws {
        try await withDatabase { database in
            let name = "forgotten-\(UUID().uuidString)"
            let connection = try await database.connect()
            try await connection.query("BEGIN")
            try await connection.query("SELECT pg_current_xact_id()")
            try await connection.query(PostgresQuery(unsafe: "PREPARE TRANSACTION '\(name)'"))
            let looked: Result<Void, any Error>
            do {
                looked = .success(try await look(for: name, on: database.pool))
            } catch {
                looked = .failure(error)
            }
            // Also when the test fails: a prepared transaction outlives its connection.
            try await connection.query(PostgresQuery(unsafe: "ROLLBACK PREPARED '\(name)'"))
            await connection.close()
            try looked.get()
        }
    }

    private func look(for name: String, on pool: PostgresPool) async throws {
        let (log, metrics) = (CapturedLog(), TestMetrics())
        var watch = PreparedTransactionWatch(pool: pool, logger: log.logger, metrics: metrics)
        #expect(try await !watch.look(besides: []).contains(name), "it may be under way")
        #expect(!log.lines.contains { $0.contains(name) })
        watch.patience = 0
        let told = try await watch.look(besides: [])
        #expect(log.lines.count { $0.contains(name) && $0.hasPrefix("warning") } == 1)
        #expect(try await watch.look(besides: told).contains(name))
        #expect(log.lines.count { $0.contains(name) } == 1)
        let age = try metrics.expectMeter("tokens_oldest_prepared_transaction_seconds")
        #expect((age.lastValue ?? 0) > 0)
    }
}
