import Postgres
import Synchronization
import TestKit
import Testing

@Suite struct TransactionTests {
    private struct Change: Error {}

    @Test func commitsWhenTheBodyReturns() async throws {
        try await withCounter { pool in
            let value = try await pool.withTransaction { transaction in
                try await transaction.query("UPDATE counter SET value = value + 1")
                return try await transaction.query("SELECT value FROM counter")[0].decode(Int.self)
            }
            #expect(value == 1)
            try await expectCount(1, pool)
        }
    }

    @Test func rollsBackWhenTheBodyThrows() async throws {
        try await withCounter { pool in
            await #expect(throws: Change.self) {
                try await pool.withTransaction { transaction in
                    try await transaction.query("UPDATE counter SET value = value + 1")
                    throw Change()
                }
            }
            try await expectCount(0, pool)
        }
    }

    @Test func aSwallowedErrorDoesNotLookLikeACommit() async throws {
        try await withCounter { pool in
            let error = await #expect(throws: PostgresError.self) {
                try await pool.withTransaction { transaction in
                    try await transaction.query("UPDATE counter SET value = value + 1")
                    _ = try? await transaction.query("SELECT 1/0")
                }
            }
            #expect(error?.code == .transactionAborted)
            try await expectCount(0, pool)
        }
    }

    @Test func aTransactionWithoutStatementsSendsNothing() async throws {
        try await withDatabase { database in
            try await database.pool.withTransaction { _ in }
            let connection = try await database.connect()
            try await connection.withTransaction { _ in }
            #expect(!connection.isClosed)
        }
    }

    @Test("The first statement is never sent: BEGIN is sent before the next one")
    func unsentStatements() async throws {
        try await withCounter { pool in
            await #expect(throws: Change.self) {
                try await pool.withTransaction { transaction in
                    _ = try? await transaction.query("SELECT \(PostgresText("\u{0}"))")
                    _ = try? await transaction.query("SELECT 1", deadline: .now - .seconds(1))
                    try await transaction.query("UPDATE counter SET value = value + 1")
                    throw Change()
                }
            }
            try await expectCount(0, pool)
        }
    }

    @Test func aTransactionThatHasNotBegunIsNotEnded() async throws {
        try await withPostgresServer { server in
            let connection = try await PostgresConnection.patient(server.url())
            // The deadline passed before BEGIN was sent.
            let late = await #expect(throws: PostgresError.self) {
                try await connection.withTransaction { transaction in
                    try await transaction.query("SELECT 1", deadline: .now - .seconds(1))
                }
            }
            #expect(late?.code == .timedOut)
            try await connection.withTransaction { transaction in
                _ = try? await transaction.query("SELECT 1", deadline: .now - .seconds(1))
            }
            // COMMIT failed, and ended the transaction.
            try await connection.execute(
                script: """
                    CREATE TABLE kept (value integer UNIQUE DEFERRABLE INITIALLY DEFERRED);
                    INSERT INTO kept VALUES (1);
                    """)
            let error = await #expect(throws: PostgresError.self) {
                try await connection.withTransaction { transaction in
                    _ = try await transaction.commit(after: "INSERT INTO kept VALUES (1)")
                }
            }
            #expect(error?.sqlState == .uniqueViolation)
            #expect(try await connection.query("SELECT count(*) FROM kept")[0].decode(Int.self) == 1)
            await connection.close()
            #expect(!server.logText.contains("no transaction in progress"))
        }
    }

    @Test func anEndedTransactionRefusesStatements() async throws {
        try await withCounter { pool in
            let escaped = Mutex<PostgresTransaction?>(nil)
            try await pool.withTransaction { transaction in
                try await transaction.query("UPDATE counter SET value = value + 1")
                escaped.withLock { $0 = transaction }
            }
            let transaction = try #require(escaped.withLock { $0 })
            let error = await #expect(throws: PostgresError.self) {
                try await transaction.query("UPDATE counter SET value = value + 1")
            }
            #expect(error?.code == .closed)
            try await expectCount(1, pool)
        }
    }

    @Test func aCancelledTaskRollsBack() async throws {
        try await withCounter { pool in
            let (updated, update) = AsyncStream.makeStream(of: Void.self)
            let task = Task {
                try await pool.withTransaction { transaction in
                    try await transaction.query("UPDATE counter SET value = value + 1")
                    update.finish()
                    while !Task.isCancelled { await Task.yield() }
                }
            }
            for await _ in updated {}
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
            try await expectCount(0, pool)
        }
    }

    @Test func aConnectionLeftInATransactionDoesNotComeBack() async throws {
        try await withCounter { pool in
            try await pool.withConnection { connection in
                try await connection.query("BEGIN")
                try await connection.query("UPDATE counter SET value = value + 1")
            }
            try await expectCount(0, pool)
        }
    }
}
