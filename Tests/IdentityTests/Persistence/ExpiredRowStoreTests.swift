import Postgres
import TestKit
import Testing

@testable import IdentityCore
@testable import IdentityService

@Suite struct ExpiredRowStoreTests {
    /// Makes a statement fail that removes more rows than one batch has.
    private static func guardBatches(of table: String, on database: PostgresPool) async throws {
        try await database.query(
            """
            CREATE FUNCTION refuse_more_than_a_batch() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN
                IF (SELECT count(*) FROM gone) > \(unescaped: "\(ExpiredRowStore.batch)") THEN
                    RAISE 'too many at once';
                END IF;
                RETURN NULL;
            END $$
            """)
        try await database.query(
            """
            CREATE TRIGGER batches AFTER DELETE ON \(unescaped: table) REFERENCING OLD TABLE AS gone
            FOR EACH STATEMENT EXECUTE FUNCTION refuse_more_than_a_batch()
            """)
    }

    @Test func whatHasExpiredGoesInBatches() async throws {
        try await withDatabase(migrations: Migrations.all) { database in
            let pool = database.pool
            try await Self.guardBatches(of: "apple_notifications", on: pool)
            try await pool.query(
                """
                INSERT INTO apple_notifications (id, received_at)
                SELECT 'old ' || i, now() - interval '40 days' FROM generate_series(1, \(ExpiredRowStore.batch * 2 + 1)) i
                """)
            try await pool.query("INSERT INTO apple_notifications (id) VALUES ('new')")
            let log = CapturedLog()
            await ExpiredRowStore(database: pool, auditRetention: nil).removeExpired(log: log)
            #expect(log.lines == [])
            let left = try await pool.query("SELECT id FROM apple_notifications").decode(String.self)
            #expect(left == ["new"])
        }
    }

    @Test func whatFailsIsLoggedAndHindersNothingElse() async throws {
        try await withDatabase(migrations: Migrations.all) { database in
            let pool = database.pool
            try await pool.query("ALTER TABLE password_resets RENAME TO gone")
            try await pool.query(
                "INSERT INTO apple_notifications (id, received_at) VALUES ('old', now() - interval '40 days')")
            let log = CapturedLog()
            await ExpiredRowStore(database: pool, auditRetention: nil).removeExpired(log: log)
            #expect(log.lines.count == 1 && log.lines.first?.contains("password_resets") == true)
            let left = try await pool.query("SELECT id FROM apple_notifications")
            #expect(left.isEmpty)
        }
    }
}
