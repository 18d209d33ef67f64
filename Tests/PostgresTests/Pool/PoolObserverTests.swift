import Postgres
import Synchronization
import TestKit
import Testing

/// What a pool tells the observer of a request.
@Suite struct PoolObserverTests {
    private final class Told: Sendable {
        private let lines = Mutex<[String]>([])

        var all: [String] { lines.withLock(\.self) }

        @Sendable func begin(_ what: String) -> PostgresConfiguration.ObserverEnd? {
            { error in self.lines.withLock { $0.append("\(what): \(error ?? "done")") } }
        }
    }

    private func withObservedPool(
        _ told: Told, maximumConnections: Int, _ body: (PostgresPool) async throws -> Void
    ) async throws {
        try await withDatabase { database in
            var configuration = try PostgresConfiguration.patient(database.url)
            configuration.onStatement = told.begin
            configuration.onWait = { told.begin("wait") }
            var sizes = PostgresPoolConfiguration.patient
            sizes.maximumConnections = maximumConnections
            let pool = PostgresPool(configuration: configuration, pool: sizes)
            defer { pool.close() }
            try await body(pool)
        }
    }

    @Test func tellsOfStatementsWithoutTheirValues() async throws {
        let told = Told()
        try await withObservedPool(told, maximumConnections: 1) { pool in
            try await pool.query("SELECT \("hush")")
            _ = try? await pool.query("SELECT 1 / \(0)")
            _ = try await pool.withTransaction { try await $0.query("SELECT 2") }
            try? await pool.withTransaction { transaction in
                try await transaction.query("SELECT 3")
                throw TestKitError("no")
            }
        }
        #expect(
            told.all == [
                // The first connection is opened while its caller waits.
                "wait: done", "SELECT $1: done", "SELECT 1 / $1: 22012", "SELECT 2: done", "COMMIT: done",
                "SELECT 3: done", "ROLLBACK: done",
            ])
    }

    @Test func tellsWhoWaitsForAConnection() async throws {
        let told = Told()
        try await withObservedPool(told, maximumConnections: 1) { pool in
            try await pool.withConnection { _ in
                let refused = Task { try await pool.query("SELECT 1", deadline: .now + .seconds(1)) }
                _ = await refused.result
            }
        }
        #expect(told.all == ["wait: done", "wait: pool_exhausted"])
    }
}
