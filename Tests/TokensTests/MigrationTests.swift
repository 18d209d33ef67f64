import Foundation
import Postgres
import TestKit
import Testing

@testable import TokensService

@Suite struct MigrationTests {
    @Test func theListIsThatOfTheFiles() throws {
        #expect(try migrationFiles(of: "tokens") == Migrations.all)
    }

    /// Rows of before the migration, and rows that an older replica writes after it.
    @Test func sessionsWithoutAProofOfTheirOwnAreRead() async throws {
        try await withDatabase(migrations: Array(Migrations.all.prefix(4))) { database in
            let (user, before, after) = (UUID(), UUID(), UUID())
            try await database.pool.query(
                """
                INSERT INTO users (id, version, role, store_ids, profile)
                VALUES (\(user), 1, 'user', '{}', '{}')
                """)
            func insert(_ session: UUID) async throws {
                try await database.pool.query(
                    """
                    INSERT INTO sessions (id, user_id, credentials_version, current_hash, created_at, rotated_at,
                        expires_at, absolute_expires_at, access_expires_at)
                    SELECT \(session), \(user), 1, '\\x00', clock - interval '2 days', clock, clock + interval '1 day',
                        clock + interval '1 day', clock FROM statement_timestamp() AS clock
                    """)
            }
            try await insert(before)
            let connection = try await PostgresConnection.patient(database.url)
            try await PostgresMigrator(migrations: Migrations.all, logger: .quiet).up(on: connection)
            await connection.close()
            try await insert(after)
            let store = SessionStore(database: database.pool, lifetimes: .init())
            for session in [before, after] {
                let grant = try #require(try await store.read(session)).grant
                #expect(abs(grant.now.timeIntervalSince(grant.authentication.time) - 172_800) < 60)
                #expect(grant.authentication.methods == [])
            }
        }
    }
}
