import Contracts
import Foundation
import Postgres
import TestKit
import Testing

@testable import TokensService

@Suite struct MigrationTests {
    @Test func theListIsThatOfTheFiles() throws {
        #expect(try migrationFiles(of: "tokens") == Migrations.all)
    }

    /// The planner adds an immense cost to a scan that a function forbids, and JIT compiles what seems that dear.
    @Test(arguments: ["identity", "tokens", "devices"])
    func functionsThatForbidScansAreNotCompiled(service: String) async throws {
        try await withDatabase(migrations: migrationFiles(of: service)) { database in
            let functions = try await database.pool.query(
                "SELECT proname, 'jit=off' = ANY (proconfig) FROM pg_proc WHERE 'enable_seqscan=off' = ANY (proconfig)"
            ).decode((String, Bool).self)
            #expect(!functions.isEmpty)
            #expect(functions.filter { !$0.1 }.map(\.0) == [])
        }
    }

    /// A function's own clause would cost 15 µs a call: the services' sessions have the setting.
    @Test(arguments: ["tokens", "devices"])
    func functionsLeaveThePlanCacheAlone(service: String) async throws {
        try await withDatabase(migrations: migrationFiles(of: service)) { database in
            let functions = try await database.pool.query(
                """
                SELECT proname::text FROM pg_proc WHERE array_to_string(proconfig, ' ') LIKE '%plan_cache_mode%'
                """)
            #expect(try functions.decode(String.self) == [])
        }
    }

    /// Sessions from before the buckets end, and those who verify their access tokens hear of it.
    @Test func sessionsWithoutABucketEnd() async throws {
        try await withDatabase(migrations: Array(Migrations.all.prefix(7))) { database in
            let (user, session) = (UUID(), UUID())
            try await database.pool.query(
                "INSERT INTO users (id, version, role, store_ids, profile) VALUES (\(user), 1, 'user', '{}', '{}')")
            try await database.pool.query(
                """
                INSERT INTO sessions (id, user_id, credentials_version, current_hash, created_at, rotated_at,
                    expires_at, absolute_expires_at, access_expires_at)
                SELECT \(session), \(user), 1, '\\x00', clock, clock, clock + interval '1 day',
                    clock + interval '1 day', clock + interval '1 hour' FROM statement_timestamp() AS clock
                """)
            try await database.pool.query("INSERT INTO audit_events (kind, user_id) VALUES ('userErased', \(user))")
            let migrator = PostgresMigrator(migrations: Migrations.all, logger: .quiet)
            let connection = try await PostgresConnection.patient(database.url)
            try await migrator.up(on: connection)
            let store = SessionStore(database: database.pool, lifetimes: .init())
            #expect(try await store.read(session) == nil)
            let feed = RevocationFeed(database: database.pool, logger: .quiet)
            let page = try await feed.page(after: nil, verifiesOnly: true, waitingUntil: .now)
            #expect(page.entries.map(\.sessionID) == [session])
            let bucket: Bucket = .init(user: user)
            #expect(
                try await database.pool.query("SELECT bucket FROM security_events").decode(Int16.self)
                    == [bucket.rawValue])
            try await migrator.down(on: connection, to: 7)
            #expect(
                try await database.pool.query("SELECT user_id FROM audit_events").decode(UUID.self) == [user])
            await connection.close()
        }
    }

    @Test func theDatabaseKnowsTheBucketsOfTheContracts() async throws {
        try await withDatabase(migrations: Migrations.all) { database in
            let users = (0..<1000).map { _ in UUID() }
            let buckets = try await database.pool.query(
                "SELECT bucket_of(id) FROM unnest(\(users)) WITH ORDINALITY AS listed (id, place) ORDER BY place"
            ).decode(Int16.self)
            let areSame = buckets == users.map { Bucket(user: $0).rawValue }
            #expect(areSame)
        }
    }
}
