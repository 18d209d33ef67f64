import Postgres
import TestKit
import Testing

/// Runs `body` with a table `counter` that holds one `value`, 0.
func withCounter(_ body: (PostgresPool) async throws -> Void) async throws {
    try await withDatabase { database in
        try await database.pool.query("CREATE TABLE counter AS SELECT 0::bigint AS value")
        try await body(database.pool)
    }
}

func expectCount(_ count: Int, _ pool: PostgresPool) async throws {
    #expect(try await pool.query("SELECT value FROM counter")[0].decode(Int.self) == count)
}
