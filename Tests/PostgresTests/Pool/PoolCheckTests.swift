import Postgres
import Synchronization
import TestKit
import Testing

@Suite struct PoolCheckTests {
    /// No caller gets a connection of which the check throws. Once the check passes, the pool can be used.
    @Test func noCallerIsGivenAConnectionThatTheCheckRefuses() async throws {
        try await withDatabase { database in
            let isRefused = Mutex(true)
            let refused = Mutex<[PostgresConnection]>([])
            var limits = PostgresPoolConfiguration.patient
            limits.maximumConnections = 2
            limits.check = { (connection) async throws(PostgresError) in
                try await connection.query("SELECT 1")
                guard isRefused.withLock(\.self) else { return }
                refused.withLock { $0.append(connection) }
                throw PostgresError(.connectionFailed, "not this one")
            }
            let pool = PostgresPool(configuration: try .patient(database.url), pool: limits, logger: .quiet)
            defer { pool.close() }
            let error = await #expect(throws: PostgresError.self) { try await pool.query("SELECT 2") }
            #expect(error?.isUnavailable == true && error?.message == "not this one")
            #expect(refused.withLock { $0.allSatisfy(\.isClosed) && !$0.isEmpty })
            isRefused.withLock { $0 = false }
            try await eventually("the pool can be used") {
                (try? await pool.query("SELECT 2")[0].decode(Int.self)) == 2
            }
        }
    }
}
