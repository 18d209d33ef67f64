import Foundation
import GatehouseServiceContracts
import TestKit
import Testing

@testable import IdentityCore
@testable import IdentityService
@testable import Postgres

@Suite struct AuditCountStoreTests {
    private static func add(_ count: Int, _ event: AuditEvent, times: Int = 1, on pool: PostgresPool) async throws {
        try await pool.query(
            """
            INSERT INTO audit_entries (user_id, actor, event, count)
            SELECT gen_random_uuid(), 'user', \(event.rawValue), \(times)::integer FROM generate_series(1, \(count))
            """)
    }

    private static func total(_ store: AuditCountStore) async throws -> AuditCount {
        try await store.recent().reduce(into: AuditCount(at: 0)) { $0 += $1 }
    }

    /// Sequenced or not, counted by one replica or by four at once.
    @Test func eachEntryIsCountedOnce() async throws {
        try await withDatabase(migrations: Migrations.all) { database in
            let (pool, store) = (database.pool, AuditCountStore(database: database.pool))
            try await Self.add(30, .signedIn, on: pool)
            try await Self.add(2, .signInRefused, times: 20, on: pool)
            try await Self.add(5, .registered, on: pool)
            try await Self.add(9, .viewed, on: pool)
            let expected = AuditCount(at: 0, signIns: 30, refusals: 40, registrations: 5)
            #expect(try await store.countNext() == 0, "nothing is sequenced")
            #expect(try await Self.total(store) == expected)
            try await sequenceAudit(on: pool)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<4 {
                    group.addTask { for _ in 0..<10 { _ = try await store.countNext(limit: 7) } }
                }
                try await group.waitForAll()
            }
            while try await store.countNext(limit: 7) > 0 {}
            #expect(try await Self.total(store) == expected)
            let kept = try await pool.query("SELECT sum(signed_in)::bigint FROM audit_counts")[0].decode(Int.self)
            #expect(kept == 30)
            try await Self.add(1, .signedIn, on: pool)
            #expect(try await Self.total(store).signIns == 31)
        }
    }

    /// However long counting has stood still, what is read stays bounded.
    @Test func noMoreThanSomeUncountedEntriesAreRead() async throws {
        try await withDatabase(migrations: Migrations.all) { database in
            let store = AuditCountStore(database: database.pool)
            try await Self.add(AuditCountStore.mostUncounted + 500, .signedIn, on: database.pool)
            #expect(try await Self.total(store).signIns == AuditCountStore.mostUncounted)
        }
    }

    /// Blocks that a statement reads, and its plan.
    private static func plan(_ query: PostgresQuery, on pool: PostgresPool) async throws -> (blocks: Int, text: String)
    {
        var explained = query
        explained.sql = "EXPLAIN (ANALYZE, BUFFERS) " + query.sql
        let text = try await pool.query(explained).decode(String.self).joined(separator: "\n")
        // The first line of buffers is that of the whole statement.
        let buffers = try #require(text.firstMatch(of: /Buffers: shared(?: hit=(\d+))?(?: read=(\d+))?/), "\(text)")
        return ((Int(buffers.1 ?? "0") ?? 0) + (Int(buffers.2 ?? "0") ?? 0), text)
    }

    /// PostgreSQL sorted the whole log for the newest entries of all users, and the overview counted up to 100,000
    /// rows. `GATEHOUSE_AUDIT_ROWS=10000000` prints the plans among as many entries of two years.
    @Test func theLogAndTheOverviewReadFewBlocks() async throws {
        let setting = ProcessInfo.processInfo.environment["GATEHOUSE_AUDIT_ROWS"]
        let rows = setting.flatMap { Int($0) } ?? 20_000
        let users = min(rows, 200_000)
        try await withDatabase(migrations: Migrations.all) { database in
            let pool = database.pool
            let connection = try await database.connect()
            try await connection.execute(
                script: """
                    SET statement_timeout = 0;
                    SET session_replication_role = replica;
                    INSERT INTO users (id, state, created_at)
                    SELECT md5(n::text)::uuid, 'disabled', now() - interval '730 days' * (1 - n / \(users)::float8)
                    FROM generate_series(1, \(users)) AS n;
                    INSERT INTO outbox (id, kind, destination, user_id, task)
                    SELECT gen_random_uuid(), 'deletion', 'tokens', md5(n::text)::uuid, '{}'
                    FROM generate_series(1, \(users)) AS n;
                    INSERT INTO audit_entries (user_id, actor, event, at)
                    SELECT md5((n % \(users))::text)::uuid, 'user', 'signed_in',
                        now() - interval '730 days' * (1 - n / \(rows)::float8)
                    FROM generate_series(1, \(rows)) AS n;
                    INSERT INTO audit_log (seq, tag, entry_id, at) SELECT id, 0, id, at FROM audit_entries;
                    UPDATE audit_counts_progress SET counted_through = (
                        SELECT max(id) FROM audit_entries WHERE at < now() - interval '26 hours');
                    RESET session_replication_role;
                    """, deadline: .now + .seconds(3600))
            try await connection.execute(
                script: "ANALYZE users, outbox, audit_entries", deadline: .now + .seconds(3600))

            let figures = try await FigureStore(database: pool).figures()
            #expect(figures.disabledUsers == figures.mostCounted && figures.pendingDeletions == figures.mostCounted)
            for (name, query, bound) in [
                ("page by id", AuditStore.entries(AuditSearch(), .id(before: .max), limit: 10), 100),
                ("page by time", AuditStore.entries(AuditSearch(), .time(after: nil), limit: 10), 100),
                ("counts", AuditCountStore.recentCounts, 1000),
                // A row may stand in a block of its own.
                ("figures", FigureStore.present, 3 * (figures.mostCounted + 100)),
            ] {
                let plan = try await Self.plan(query, on: pool)
                #expect(plan.blocks <= bound, "\(name): \(plan.text)")
                if setting != nil { print("\(name), \(rows) entries: \(plan.blocks) blocks\n\(plan.text)\n") }
            }
        }
    }
}
