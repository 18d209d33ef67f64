import Foundation
import Postgres
import Sealing
import TestKit
import Testing

@testable import IdentityCore
@testable import IdentityService

@Suite struct AuditSealStoreTests {
    private static func add(_ count: Int, on database: some PostgresQuerying) async throws {
        try await database.query(
            """
            INSERT INTO audit_entries (user_id, actor, event)
            SELECT gen_random_uuid(), 'user', 'signed_in' FROM generate_series(1, \(count))
            """)
    }

    /// Seals everything that is there.
    private static func sealAll(_ store: AuditSealStore, limit: Int = 10) async throws {
        try await sequenceAudit(on: store.database)
        while try await store.seal(limit: limit) != nil {}
    }

    /// A log of 25 entries in three seals.
    private func withLog(_ body: (PostgresPool, AuditSealStore) async throws -> Void) async throws {
        try await withDatabase(migrations: Migrations.all) { database in
            let store = AuditSealStore(database: database.pool, keys: .sample)
            try await Self.add(25, on: database.pool)
            try await Self.sealAll(store)
            try await body(database.pool, store)
        }
    }

    @Test func aLogIsSealedInBatchesAndIntact() async throws {
        try await withLog { _, store in
            let result = try await store.verify(days: nil)
            #expect(result.flaws == [] && result.seals == 3 && result.entries == 25 && result.withoutKey == 0)
            #expect(try await store.oldestUnsealedAge() == nil)
            #expect(try await store.seal() == nil)
        }
    }

    @Test func manyReplicasMakeOneChain() async throws {
        try await withDatabase(migrations: Migrations.all) { database in
            let pool = database.pool
            let store = AuditSealStore(database: pool, keys: .sample)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<4 {
                    group.addTask {
                        for _ in 0..<20 { try await Self.add(5, on: pool) }
                    }
                    group.addTask {
                        for _ in 0..<20 {
                            try await sequenceAudit(on: pool)
                            _ = try await store.seal(limit: 7)
                        }
                    }
                }
                try await group.waitForAll()
            }
            try await Self.sealAll(store)
            let result = try await store.verify(days: nil)
            #expect(result.flaws == [] && result.entries == 400)
        }
    }

    /// Ids are not committed in their order: the lower one comes into the next seal.
    @Test func anEntryThatIsCommittedLateIsSealedLater() async throws {
        try await withDatabase(migrations: Migrations.all) { database in
            let pool = database.pool
            let store = AuditSealStore(database: pool, keys: .sample)
            try await pool.withTransaction { late in
                try await Self.add(1, on: late)
                try await Self.add(1, on: pool)
                try await Self.sealAll(store)
            }
            #expect(try await store.oldestUnsealedAge() != nil)
            try await Self.sealAll(store)
            #expect(try await store.oldestUnsealedAge() == nil)
            let result = try await store.verify(days: nil)
            #expect(result.flaws == [] && result.seals == 2 && result.entries == 2)
        }
    }

    @Test func rowsAreOnlyAdded() async throws {
        try await withLog { pool, _ in
            for table in ["audit_entries", "audit_log", "audit_seals"] {
                for statement in [
                    "DELETE FROM \(table)", "TRUNCATE \(table)", "UPDATE \(table) SET at = now() - interval '9 years'",
                ] {
                    let error = await #expect(throws: PostgresError.self) {
                        try await pool.query(PostgresQuery(unsafe: statement))
                    }
                    #expect(error?.sqlState?.description == "42501", "\(statement)")
                }
            }
        }
    }

    static let attacks = [
        "UPDATE audit_entries SET event = 'enabled' WHERE id = 3",
        "UPDATE audit_entries SET user_id = gen_random_uuid() WHERE id = 25",
        "DELETE FROM audit_entries WHERE id = 12",
        "DELETE FROM audit_log WHERE seq = 12",
        "INSERT INTO audit_entries (user_id, actor, event) VALUES (gen_random_uuid(), 'user', 'signed_in')",
        "UPDATE audit_log SET seq = 1000 + seq % 2 WHERE seq IN (11, 12)",
        "DELETE FROM audit_seals WHERE number = 2",
        "DELETE FROM audit_seals WHERE number = 1",
        "UPDATE audit_seals SET at = at - interval '1 second' WHERE number = 3",
        // Another one in the place of one that was there.
        "WITH gone AS (DELETE FROM audit_entries WHERE id = 12 RETURNING id) INSERT INTO audit_entries "
            + "(id, user_id, actor, event) OVERRIDING SYSTEM VALUE SELECT 13000, gen_random_uuid(), 'user', 'x' FROM gone",
    ]

    /// The attacker may do more than the service.
    @Test(arguments: attacks) func whoChangesTheLogAllTheSameIsSeen(statement: String) async throws {
        try await withLog { pool, store in
            for table in ["audit_entries", "audit_log", "audit_seals"] {
                try await pool.query("ALTER TABLE \(unescaped: table) DISABLE TRIGGER USER")
            }
            try await pool.query(PostgresQuery(unsafe: statement))
            #expect(try await store.verify(days: nil).flaws != [])
        }
    }

    @Test func whatIsTooOldGoesWithItsSealAndTheRestStaysIntact() async throws {
        try await withDatabase(migrations: Migrations.all) { database in
            let pool = database.pool
            let store = AuditSealStore(database: pool, keys: .sample)
            let keys = KeyRing.sample.derived(for: "gatehouse identity audit seals")
            var last: AuditSeal?
            // Sealed 40, 20 and 0 days ago.
            for days in [40, 20, 0] {
                try await pool.query(
                    """
                    INSERT INTO audit_entries (at, user_id, actor, event)
                    SELECT now() - make_interval(days => \(days)::integer), gen_random_uuid(), 'user', 'signed_in'
                    FROM generate_series(1, 10)
                    """)
                try await sequenceAudit(on: pool)
                let entries = try await AuditSealStore.entries(after: last?.lastSeq ?? 0, limit: 100, on: pool)
                let seal = AuditSeal(
                    after: last, over: entries, at: entries[0].at, keyID: keys.current.id, key: keys.current.secret)
                try await pool.withTransaction { try await AuditSealStore.add(seal, on: $0) }
                last = seal
            }
            try await pool.query(
                "INSERT INTO audit_origins (entry_id, at, salt) SELECT id, at, '' FROM audit_entries")
            let log = CapturedLog()
            await ExpiredRowStore(database: pool, auditRetention: 30, originRetention: 10, seals: store)
                .removeExpired(log: log)
            #expect(log.lines == [])
            #expect(try await pool.query("SELECT count(*) FROM audit_entries")[0].decode(Int.self) == 20)
            #expect(try await pool.query("SELECT count(*) FROM audit_origins")[0].decode(Int.self) == 10)
            let result = try await store.verify(days: 30)
            #expect(result.flaws == [] && result.first?.number == 2 && result.entries == 20)
            // With another setting it would have had to stay.
            #expect(try await store.verify(days: 50).flaws.count == 1)
            #expect(try await store.verify(days: nil).flaws.count == 1)
        }
    }
}
