import Foundation
import MetricsTestKit
import Postgres
import TestKit
import Testing

@testable import ServiceKitPostgres
@testable import TokensService

@Suite struct DatabaseWatchTests {
    @Test func whatWasForgottenIsNamedOnce() async throws {
        try await withDatabase { database in
            let name = "forgotten-\(UUID().uuidString)"
            let connection = try await database.connect()
            try await connection.query("BEGIN")
            try await connection.query("SELECT pg_current_xact_id()")
            try await connection.query(PostgresQuery(unsafe: "PREPARE TRANSACTION '\(name)'"))
            let result: Result<Void, any Error>
            do {
                result = .success(try await check(for: name, on: database.pool))
            } catch {
                result = .failure(error)
            }
            // Also when the test fails: a prepared transaction outlives its connection.
            try await connection.query(PostgresQuery(unsafe: "ROLLBACK PREPARED '\(name)'"))
            await connection.close()
            try result.get()
        }
    }

    private func check(for name: String, on pool: PostgresPool) async throws {
        let (log, metrics) = (CapturedLog(), TestMetrics())
        var watch = DatabaseWatch(service: "tokens", database: pool, logger: log.logger, metrics: metrics)
        #expect(try await !watch.check(logged: []).contains(name), "it may be in progress")
        #expect(!log.lines.contains { $0.contains(name) })
        watch.abandonedAfter = 0
        let logged = try await watch.check(logged: [])
        #expect(log.lines.count { $0.contains(name) && $0.hasPrefix("warning") } == 1)
        #expect(try await watch.check(logged: logged).contains(name))
        #expect(log.lines.count { $0.contains(name) } == 1)
        let age = try metrics.expectMeter("tokens_oldest_prepared_transaction_seconds")
        #expect((age.lastValue ?? 0) > 0)
    }

    @Test func theAgeOfTransactionsAndOfUnpurgedExpiriesIsMeasured() async throws {
        try await TokensFixture.with { tokens in
            let metrics = TestMetrics()
            let watch = DatabaseWatch(
                service: "tokens", database: tokens.database.pool, expiry: SweepStore.firstExpiry, logger: .quiet,
                metrics: metrics)
            func value(_ name: String) throws -> Double? { try metrics.expectMeter(name).lastValue }
            _ = try await tokens.signIn()
            try await watch.measure()
            #expect(try value("tokens_oldest_unpurged_expiry_seconds") == 0)
            #expect((try value("tokens_database_transaction_age") ?? 0) > 0)
            try await tokens.age(tokens.signIn().sessionID, by: 2_592_000 + 7200)
            try await watch.measure()
            let seconds = try value("tokens_oldest_unpurged_expiry_seconds") ?? 0
            #expect(seconds >= 7200 && seconds < 10_800)
        }
    }
}
