import Foundation
import Postgres
import TestKit
import Testing

@testable import IdentityService

@Suite struct MigrationTests {
    @Test func theListIsThatOfTheFiles() throws {
        let files = try migrationFiles(of: "identity")
        #expect(files.steps == Migrations.all.steps && files.files == Migrations.all.files)
    }

    /// A build waits for a transaction that has written to the table; registrations wait for neither.
    /// `GATEHOUSE_MIGRATION_ROWS=10000000` prints how long writers waited among as many rows.
    @Test func registrationsGoOnWhileIndexesAreBuilt() async throws {
        let setting = ProcessInfo.processInfo.environment["GATEHOUSE_MIGRATION_ROWS"]
        let rows = setting.flatMap { Int($0) } ?? 20_000
        let indexes = PostgresMigration(
            number: Migrations.all.steps.count + 1, name: "indexes",
            indexes: Array(
                """
                CREATE INDEX CONCURRENTLY identifiers_by_change ON identifiers (changed_at);
                CREATE INDEX CONCURRENTLY users_by_change ON users (updated_at, id);
                CREATE INDEX CONCURRENTLY audit_entries_by_actor ON audit_entries (actor, at, id);
                CREATE UNIQUE INDEX CONCURRENTLY audit_entries_once ON audit_entries (session_id, id);
                """.utf8), up: Array("SELECT".utf8), down: [])
        let migrations = PostgresMigrations(steps: Migrations.all.steps + [indexes], files: Migrations.all.files)
        try await withDatabase(migrations: Migrations.all) { database in
            let connection = try await database.connect()
            try await connection.execute(
                script: """
                    SET statement_timeout = 0;
                    SET synchronous_commit = off;
                    SET session_replication_role = replica;
                    INSERT INTO users (id) SELECT md5(number::text)::uuid FROM generate_series(1, \(rows)) AS number;
                    INSERT INTO identifiers (kind, value, user_id, verified)
                    SELECT 'email', number || '@example.com', md5(number::text)::uuid, true
                    FROM generate_series(1, \(rows)) AS number;
                    INSERT INTO audit_entries (user_id, actor, event)
                    SELECT md5(number::text)::uuid, 'user', 'signed_in' FROM generate_series(1, \(rows)) AS number;
                    RESET session_replication_role;
                    ANALYZE users, identifiers, audit_entries;
                    """, deadline: .now + .seconds(3600))
            let load = Load()
            let pool = database.pool
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 1...2 {
                    group.addTask {
                        while await !load.isDone {
                            let isBuilding = await load.isBuilding
                            let start = ContinuousClock.now
                            try await Self.register(UUID(), pool)
                            await load.add(ContinuousClock.now - start, isBuilding)
                        }
                    }
                }
                try await eventually("registrations go on") { await load.before.count >= 100 }
                let writer = try await database.connect()
                try await writer.withTransaction { transaction in
                    try await Self.register(UUID(), on: transaction)
                    await load.beginBuild()
                    group.addTask {
                        let start = ContinuousClock.now
                        try await PostgresMigrator(migrations: migrations, logger: .quiet).up(on: connection)
                        if setting != nil { print("\(rows) rows a table: \(ContinuousClock.now - start)") }
                        await load.end()
                    }
                    try await eventually("the build waits") { try await isBuildWaiting(database) }
                    let count = await load.during.count
                    try await eventually("registrations go on beside it") { await load.during.count >= count + 100 }
                    #expect(try await isBuildWaiting(database))
                }
                await writer.close()
                try await group.waitForAll()
            }
            #expect(try await invalid(database) == [])
            guard setting != nil else { return }
            let during = await load.during
            for (name, unsorted) in [("before", await load.before), ("during", during)] {
                let times = unsorted.sorted()
                print(
                    "\(times.count) registrations \(name): median \(times[times.count / 2]), "
                        + "99 % \(times[times.count * 99 / 100]), slowest \(times[times.count - 1])")
            }
        }
    }

    private actor Load {
        private(set) var isBuilding = false
        private(set) var isDone = false
        /// How long registrations took that began before the migration, and since.
        private(set) var before: [Duration] = []
        private(set) var during: [Duration] = []

        func add(_ time: Duration, _ isBuilding: Bool) {
            if isBuilding { during.append(time) } else { before.append(time) }
        }

        func beginBuild() { isBuilding = true }
        func end() { isDone = true }
    }

    private static func register(_ user: UUID, _ pool: PostgresPool) async throws {
        try await pool.withTransaction { try await register(user, on: $0) }
    }

    private static func register(_ user: UUID, on transaction: PostgresTransaction) async throws {
        try await transaction.query("INSERT INTO users (id) VALUES (\(user))")
        try await transaction.query(
            """
            INSERT INTO identifiers (kind, value, user_id, verified)
            VALUES ('email', \("\(user)"), \(user), false)
            """)
        try await transaction.query(
            """
            INSERT INTO audit_entries (user_id, actor, event, session_id)
            VALUES (\(user), 'user', 'signed_in', \(user))
            """)
    }

    private func isBuildWaiting(_ database: LeasedDatabase) async throws -> Bool {
        try await database.pool.lockWaiters(running: "CREATE INDEX").count == 1
    }

    /// Names of the indexes that are being built or whose build was interrupted.
    private func invalid(_ database: LeasedDatabase) async throws -> [String] {
        try await database.pool.query("SELECT indexrelid::regclass::text FROM pg_index WHERE NOT indisvalid")
            .decode(String.self)
    }
}
