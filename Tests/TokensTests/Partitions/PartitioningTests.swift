import Foundation
import GatehouseServiceContracts
import Postgres
import TestKit
import Testing

@testable import TokensService

/// Tables with rows are partitioned while clients refresh, sign in and sign out.
@Suite struct PartitioningTests {
    /// The copy is killed in the middle, and begun again.
    @Test(.enabled(if: testPartitions == nil)) func noClientNoticesThatTheTablesArePartitioned() async throws {
        try await TokensFixture.with { tokens in
            var others: [RefreshToken] = []
            for _ in 0..<300 { others.append(try await tokens.signIn()) }
            let side = ServiceSide(pool: tokens.database.pool)
            let load = try await FailoverLoad(tokens, from: side)
            let migrator = PostgresMigrator(migrations: Migrations.all, logger: .quiet)
            try await load.run {
                try await load.everyClientRefreshesAgain()
                try await interruptPartitioning(of: tokens, at: others[7], by: migrator)
                let again = try await tokens.database.connect()
                let tables = try await migrator.partition(into: 8, on: again)
                #expect(tables == ["pending_revocations", "security_events", "users", "sessions"])
                #expect(try await migrator.partition(into: 8, on: again) == [])
                await again.close()
                try await load.everyClientRefreshesAgain()
            }
            #expect(load.signedOut == [] && load.forks == [])
            for token in others {
                #expect(try await tokens.store.read(token.sessionID)?.state.currentHash == token.hash)
            }
            // A session that was signed out during the copy does not live again.
            for session in load.revoked { #expect(try await tokens.store.read(session) == nil) }
            try await load.readFeed()
            #expect(load.revoked.isSubset(of: load.seen))
            let pool = tokens.database.pool
            #expect(
                try await pool.query("SELECT count(*) FROM pg_partition_tree('sessions') WHERE isleaf")[0]
                    .decode(Int.self) == 8)
            #expect(try await names(pool) == expectedNames)
            let comments = try await pool.query(
                """
                SELECT obj_description('sessions'::regclass, 'pg_class'), col_description('sessions'::regclass, attnum)
                FROM pg_attribute WHERE attrelid = 'sessions'::regclass AND attname = 'expiry_day'
                """)[0].decode((String?, String?).self)
            #expect(comments.0 != nil && comments.1 != nil)
        }
    }

    /// The copy waits for a transaction that has locked a session. Then its connection breaks.
    private func interruptPartitioning(
        of tokens: TokensFixture, at session: RefreshToken, by migrator: PostgresMigrator
    ) async throws {
        let locking = try await tokens.database.connect()
        try await locking.execute(script: "BEGIN; SELECT FROM sessions WHERE id = '\(session.sessionID)' FOR UPDATE")
        let connection = try await tokens.database.connect()
        let attempt = Task { try await migrator.partition(into: 8, on: connection) }
        try await eventually("the copy of the sessions is under way") {
            guard try await tokens.count("pg_class WHERE relname = 'partition_progress'") == 1 else { return false }
            return try await tokens.count("partition_progress WHERE table_name = 'sessions' AND next_bucket >= 0") == 1
        }
        try await tokens.database.pool.query(
            """
            SELECT pg_terminate_backend(pid) FROM pg_locks
            WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
                AND objsubid = 1 AND classid = (\(Self.migrationLock) >> 32)::bigint::oid
            """)
        await #expect(throws: PostgresError.self) { try await attempt.value }
        try await checkInterrupted(tokens, migrator)
        try await locking.execute(script: "ROLLBACK")
        await locking.close()
    }

    /// Nothing may change the tables' form meanwhile, and another count cannot go on with these copies.
    private func checkInterrupted(_ tokens: TokensFixture, _ migrator: PostgresMigrator) async throws {
        let connection = try await tokens.database.connect()
        let later = PostgresMigration(number: 99, name: "later", up: Array("SELECT 1".utf8), down: [])
        let newer = PostgresMigrator(migrations: .init(steps: Migrations.all.steps + [later]), logger: .quiet)
        for attempt: () async throws -> Void in [
            { try await newer.up(on: connection) }, { try await migrator.down(on: connection, to: 0) },
            { try await migrator.partition(into: 4, on: connection) },
        ] {
            let error = await #expect(throws: PostgresError.self) { try await attempt() }
            #expect(error?.code == .migration)
        }
        let error = await #expect(throws: PostgresError.self) {
            try await connection.execute(script: "TRUNCATE pending_revocations")
        }
        #expect(error?.message.contains("is being partitioned") == true)
        await connection.close()
    }

    @Test(.enabled(if: testPartitions == nil)) func aPartitioningIsAbandoned() async throws {
        try await TokensFixture.with { tokens in
            let token = try await tokens.signIn()
            let migrator = PostgresMigrator(migrations: Migrations.all, logger: .quiet)
            try await interruptPartitioning(of: tokens, at: token, by: migrator)
            let connection = try await tokens.database.connect()
            try await migrator.abandonPartitioning(on: connection)
            #expect(try await tokens.count("pg_class WHERE relname ~ '_partitioned$|^partition_progress'") == 0)
            #expect(try await tokens.count("pg_proc WHERE proname LIKE '%\\_to\\_partitions'") == 0)
            #expect(try await tokens.refresher().refresh(token).refresh.generation == 1)
            let hasRows = await #expect(throws: PostgresError.self) {
                try await migrator.partition(into: 4, on: connection, requiringEmpty: true)
            }
            #expect(hasRows?.code == .migration)
            #expect(try await migrator.partition(into: 4, on: connection).count == 4)
            try await migrator.down(on: connection, to: 0)
            await connection.close()
        }
    }

    private static let migrationLock: Int64 = 0x6d_6967_7261_7465

    /// Constraints and indexes have the names of the migration.
    private func names(_ pool: PostgresPool) async throws -> Set<String> {
        Set(
            try await pool.query(
                """
                SELECT conname::text FROM pg_constraint
                WHERE conrelid IN ('users'::regclass, 'sessions'::regclass) AND conparentid = 0
                UNION SELECT indexrelid::regclass::text FROM pg_index
                WHERE indrelid IN ('users'::regclass, 'sessions'::regclass)
                """
            ).decode(String.self))
    }

    private let expectedNames: Set = [
        "users_pkey", "users_signed_out_at", "sessions_pkey", "sessions_bucket_user_id_fkey", "sessions_user_id",
        "sessions_expiry_day",
    ]
}
