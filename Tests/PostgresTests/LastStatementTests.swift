import Postgres
import Testing

/// COMMIT that travels with the last statement.
@Suite struct LastStatementTests {
    @Test(arguments: [true, false]) func commitsWithTheStatement(isTheOnlyOne: Bool) async throws {
        try await withCounter { pool in
            let value = try await pool.withTransaction { transaction in
                if !isTheOnlyOne { try await transaction.query("UPDATE counter SET value = value + 1") }
                let rows = try await transaction.commit(
                    after: "UPDATE counter SET value = value + 1 RETURNING value")
                return try rows[0].decode(Int.self)
            }
            #expect(value == (isTheOnlyOne ? 1 : 2))
            try await expectCount(value, pool)
        }
    }

    @Test func nothingFollowsIt() async throws {
        try await withCounter { pool in
            let error = await #expect(throws: PostgresError.self) {
                try await pool.withTransaction { transaction in
                    _ = try await transaction.commit(after: "UPDATE counter SET value = value + 1")
                    try await transaction.query("UPDATE counter SET value = value + 1")
                }
            }
            #expect(error?.code == .closed)
            try await expectCount(1, pool)
        }
    }

    @Test(arguments: [true, false]) func whatFailsIsNotCommitted(isSwallowed: Bool) async throws {
        try await withCounter { pool in
            let error = await #expect(throws: PostgresError.self) {
                try await pool.withTransaction { transaction in
                    try await transaction.query("UPDATE counter SET value = value + 1")
                    do {
                        _ = try await transaction.commit(after: "SELECT 1/0")
                    } catch  where isSwallowed {}
                }
            }
            #expect(isSwallowed ? error?.code == .transactionAborted : error?.sqlState == "22012")
            try await expectCount(0, pool)
        }
    }

    @Test func whoIsCancelledAfterItHasCommitted() async throws {
        try await withCounter { pool in
            let value = try await Task {
                try await pool.withTransaction { transaction in
                    let rows = try await transaction.commit(
                        after: "UPDATE counter SET value = value + 1 RETURNING value")
                    withUnsafeCurrentTask { $0?.cancel() }
                    return try rows[0].decode(Int.self)
                }
            }.value
            #expect(value == 1)
            try await expectCount(1, pool)
        }
    }
}
