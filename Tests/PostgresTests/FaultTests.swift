import Foundation
import Postgres
import TestKit
import Testing

/// Servers that die, hang and come back, connections that break. Each test has a server of its own.
@Suite struct FaultTests {
    @Test func aServerThatIsKilledAndComesBack() async throws {
        try await withPostgresServer { server in
            try await withRunningPool(server.url()) { pool in
                try await expectDone("CREATE TABLE IF NOT EXISTS kept (value integer)", pool)
                await server.kill()
                // Connections that lie idle, and those that would have to be opened.
                await expectUnavailable(pool, callers: 50)
                await expectUnavailable(pool, callers: 50)
                #expect(await !pool.probe())
                try await server.restart()
                try await expectDone("SELECT 1", pool)
                try await expectDone("INSERT INTO kept VALUES (1)", pool)
            }
        }
    }

    @Test func aServerThatHangsAndGoesOn() async throws {
        try await withPostgresServer { server in
            try await withRunningPool(server.url()) { pool in
                try await expectDone("SELECT 1", pool)
                await server.freeze()
                await expectUnavailable(pool, callers: 50)
                await expectUnavailable(pool, callers: 50)
                await server.thaw()
                try await expectDone("SELECT 1", pool)
            }
        }
    }

    @Test func statementsUnderWayWhenTheServerDies() async throws {
        try await withPostgresServer { server in
            try await withRunningPool(server.url(), isPatient: true) { pool in
                let tasks = (1...4).map { _ in
                    Task { try await pool.query("SELECT pg_sleep(60)", deadline: .now + .seconds(60)) }
                }
                try await eventually("four statements run") {
                    try await pool.query(
                        "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'SELECT pg_sleep%' AND state = 'active'"
                    )[0].decode(Int.self) == 4
                }
                await server.kill()
                for task in tasks {
                    let error = await #expect(throws: PostgresError.self) { try await task.value }
                    #expect(error?.isUnavailable == true)
                    #expect(error?.outcomeIsUnknown == true)
                }
            }
        }
    }

    @Test func anAdministratorEndsTheSession() async throws {
        try await withDatabase { database in
            let connection = try await database.connect()
            let backend = try await connection.query("SELECT pg_backend_pid()")[0].decode(Int32.self)
            try await database.pool.query(
                "SELECT pg_terminate_backend(\(backend), 10000)", deadline: .now + .seconds(10))
            let error = await #expect(throws: PostgresError.self) { try await connection.query("SELECT 1") }
            #expect(error?.isUnavailable == true)
            #expect(connection.isClosed)
        }
    }

    /// A server that is dying reports the first thing that it misses.
    @Test("An internal error ends the connection: the server is unavailable, and the statement has no defect")
    func internalErrors() async throws {
        try await withDatabase { database in
            // `array_in` finds no type 0: XX000.
            let failing = "array_in('{1}', 0::oid, -1)"
            let connection = try await database.connect()
            let defect = await #expect(throws: PostgresError.self) {
                try await connection.query("SELECT \(unescaped: failing)")
            }
            #expect(defect?.code == .server && defect?.sqlState == "XX000" && defect?.isUnavailable == false)
            #expect(!connection.isClosed)
            let error = await #expect(throws: PostgresError.self) {
                try await connection.query("SELECT pg_terminate_backend(pg_backend_pid()), \(unescaped: failing)")
            }
            #expect(error?.sqlState == "XX000" && error?.isUnavailable == true)
            #expect(connection.isClosed)
        }
    }

    @Test func aConnectionThatIsCutInTheMiddleOfAnAnswer() async throws {
        try await withPostgresServer { server in
            try await withTCPProxy(to: server.port) { proxy in
                let url = server.url("sslmode=disable").replacing(":\(server.port)/", with: ":\(proxy.port)/")
                try await withRunningPool(url, isPatient: true) { pool in
                    let answer: PostgresQuery = "SELECT repeat('x', 1000) FROM generate_series(1, 1000)"
                    // In the first byte, in a header, in a row, and so on through the whole answer.
                    for cut in [0, 1, 4, 7, 40, 1_000, 100_003, 1_000_000] {
                        let whole = try await pool.query(answer)
                        #expect(whole.count == 1000)
                        proxy.cut(afterBytesFromServer: cut)
                        let error = await #expect(throws: PostgresError.self) { try await pool.query(answer) }
                        #expect(error?.code == .connectionLost, "after \(cut) bytes")
                        #expect(error?.outcomeIsUnknown == true)
                    }
                    try await pool.query(answer)
                }
            }
        }
    }

    @Test func aCommitWhoseAnswerIsLostIsNotTakenForARollback() async throws {
        try await withPostgresServer { server in
            try await withTCPProxy(to: server.port) { proxy in
                let url = server.url("sslmode=disable").replacing(":\(server.port)/", with: ":\(proxy.port)/")
                try await withRunningPool(url, isPatient: true) { pool in
                    try await pool.query("CREATE TABLE kept (value integer)")
                    let error = await #expect(throws: PostgresError.self) {
                        try await pool.withTransaction { transaction in
                            try await transaction.query("INSERT INTO kept VALUES (1)")
                            proxy.cut(afterBytesFromServer: 0)
                        }
                    }
                    #expect(error?.outcomeIsUnknown == true)
                    #expect(try await pool.query("SELECT value FROM kept").count == 1)
                }
            }
        }
    }

    /// - Parameter isPatient: where times are not what is tested.
    private func withRunningPool(
        _ url: String, isPatient: Bool = false, _ body: (PostgresPool) async throws -> Void
    ) async throws {
        let pool = PostgresPool(
            configuration: try isPatient ? .patient(url) : PostgresConfiguration(url: url),
            pool: isPatient ? .patient : PostgresPoolConfiguration())
        let running = Task { await pool.run() }
        defer { running.cancel() }
        try await body(pool)
    }

    /// Many callers, all of which are refused.
    private func expectUnavailable(_ pool: PostgresPool, callers: Int) async {
        await withTaskGroup(of: Void.self) { group in
            for _ in 1...callers {
                group.addTask {
                    let error = await #expect(throws: PostgresError.self) { try await pool.query("SELECT 1") }
                    #expect(error?.isUnavailable == true)
                }
            }
        }
    }

    /// However long it takes.
    private func expectDone(_ query: PostgresQuery, _ pool: PostgresPool) async throws {
        try await eventually("it is done", within: .seconds(60)) { (try? await pool.query(query)) != nil }
    }
}
