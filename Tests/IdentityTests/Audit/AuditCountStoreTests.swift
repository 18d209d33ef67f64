import Foundation
import Postgres
import TestKit
import Testing

@testable import IdentityService

@Suite struct AuditCountStoreTests {
    private static func add(_ count: Int, _ event: AuditEvent, times: Int = 1, on pool: PostgresPool) async throws {
        try await pool.query(
            """
            INSERT INTO audit_entries (user_id, actor, event, count)
            SELECT gen_random_uuid(), 'user', \(event.rawValue), \(times)::integer FROM generate_series(1, \(count))
            """)
    }

    private static func sealAll(on pool: PostgresPool) async throws {
        let seals = AuditSealStore(database: pool, keys: .sample)
        while try await seals.seal(upTo: AuditSealStore.Mark(id: .max, transaction: 0)) != nil {}
    }

    private static func total(_ store: AuditCountStore) async throws -> AuditCount {
        try await store.recent(deadline: .now + .seconds(60)).reduce(into: AuditCount(at: 0)) { $0 += $1 }
    }

    /// Sealed or not, counted by one replica or by four at once.
    @Test func eachEntryIsCountedOnce() async throws {
        try await withDatabase(migrations: identityMigrations) { database in
            let (pool, store) = (database.pool, AuditCountStore(database: database.pool))
            try await Self.add(30, .signedIn, on: pool)
            try await Self.add(2, .signInRefused, times: 20, on: pool)
            try await Self.add(5, .registered, on: pool)
            try await Self.add(9, .viewed, on: pool)
            let expected = AuditCount(at: 0, signIns: 30, refusals: 40, registrations: 5)
            #expect(try await store.countNext() == 0, "nothing is sealed")
            #expect(try await Self.total(store) == expected)
            try await Self.sealAll(on: pool)
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
        try await withDatabase(migrations: identityMigrations) { database in
            let store = AuditCountStore(database: database.pool)
            try await Self.add(AuditCountStore.mostUncounted + 500, .signedIn, on: database.pool)
            #expect(try await Self.total(store).signIns == AuditCountStore.mostUncounted)
        }
    }

    /// PostgreSQL sorted the whole log for the newest entries of all users.
    @Test func aPageOfTheWholeLogIsReadFromAnIndex() async throws {
        try await withDatabase(migrations: identityMigrations) { database in
            let pool = database.pool
            try await Self.add(20_000, .signedIn, on: pool)
            try await pool.query("ANALYZE audit_entries")
            let page = try await AuditLog(database: pool).page(of: nil, before: nil, limit: 10)
            #expect(page.count == 10)
            // PostgreSQL tells its statistics a moment later.
            try await eventually("the index was read") {
                try await pool.query(
                    """
                    SELECT idx_scan > 0 AND idx_tup_read <= 20 FROM pg_stat_user_indexes
                    WHERE indexrelname = 'audit_entries_pkey'
                    """
                )[0].decode(Bool.self)
            }
        }
    }
}
