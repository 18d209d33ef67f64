import GatehouseLimits
import Postgres
import Synchronization
import TestKit
import Testing

/// Which deadline a call has: its argument, or else the current work's, or else the configured one.
@Suite struct DeadlineTests {
    private static let passed = Deadline.after(.seconds(-1))

    private func timesOut(_ body: @Sendable () async throws -> Void) async {
        let error = await #expect(throws: PostgresError.self) { try await body() }
        #expect(error?.code == .timedOut)
    }

    @Test func withoutAnArgumentTheCurrentDeadlineApplies() async throws {
        try await withDatabase { database in
            let pool = database.pool
            let connection = try await database.connect()
            await Deadline.with(Self.passed) {
                await timesOut { try await pool.query("SELECT 1") }
                await timesOut { _ = try await pool.withConnection { try await $0.query("SELECT 1") } }
                await timesOut { _ = try await pool.withTransaction { try await $0.query("SELECT 1") } }
                await timesOut { try await connection.query("SELECT 1") }
                await timesOut { try await connection.execute(script: "SELECT 1") }
                await timesOut { _ = try await connection.withTransaction { try await $0.query("SELECT 1") } }
            }
            // Below, the deadline is for the query, not for connecting to a busy server.
            try await pool.query("SELECT 1")
            await Deadline.with(.after(.milliseconds(100))) {
                await timesOut { try await pool.query("SELECT pg_sleep(60)") }
            }
            try await pool.query("SELECT 1")
            try await connection.query("SELECT 1")
        }
    }

    @Test func theCurrentDeadlineIsCappedForPostgreSQL() async throws {
        try await withDatabase { database in
            // Connected before the deadline begins.
            try await database.pool.query("SELECT 1")
            await Deadline.with(Deadline(.now + .seconds(600), databaseTimeout: .milliseconds(100))) {
                await timesOut { try await database.pool.query("SELECT pg_sleep(60)") }
            }
        }
    }

    @Test func anArgumentPrevails() async throws {
        try await withDatabase { database in
            let pool = database.pool
            try await Deadline.with(Self.passed) {
                try await pool.query("SELECT 1", deadline: .now + .seconds(60))
                _ = try await pool.withTransaction(deadline: .now + .seconds(60)) { try await $0.query("SELECT 1") }
            }
            await Deadline.with(.after(.seconds(60))) {
                await timesOut { try await pool.query("SELECT 1", deadline: .now - .seconds(1)) }
            }
        }
    }

    @Test func aTransactionKeepsTheDeadlineWithWhichItBegan() async throws {
        try await withDatabase { database in
            _ = try await database.pool.withTransaction { transaction in
                try await Deadline.with(Self.passed) { try await transaction.query("SELECT 1") }
            }
        }
    }

    /// The connection serves other callers, too.
    @Test func theCheckOfANewConnectionDoesNotEndWithItsFirstCaller() async throws {
        try await withDatabase { database in
            let deadlines = Mutex<[Deadline?]>([])
            var limits = PostgresPoolConfiguration.patient
            limits.check = { _ in deadlines.withLock { $0.append(Deadline.current) } }
            let pool = PostgresPool(configuration: try .patient(database.url), pool: limits, logger: .quiet)
            defer { pool.close() }
            try await Deadline.with(Deadline(.now + .seconds(60), databaseTimeout: .seconds(60))) {
                try await pool.query("SELECT 1")
            }
            #expect(deadlines.withLock { $0 } == [nil])
        }
    }
}
