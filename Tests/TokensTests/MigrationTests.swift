import Foundation
import GatehouseServiceContracts
import Postgres
import TestKit
import Testing

@testable import TokensService

@Suite struct MigrationTests {
    @Test func theListIsThatOfTheFiles() throws {
        let files = try migrationFiles(of: "tokens")
        #expect(files.steps == Migrations.all.steps && files.files == Migrations.all.files)
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
