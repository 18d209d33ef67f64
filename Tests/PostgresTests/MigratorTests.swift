import Foundation
import Postgres
import TestKit
import Testing

@Suite struct MigratorTests {
    private static let people = PostgresMigration(
        number: 1, name: "people",
        up: Array("CREATE TABLE people (id integer PRIMARY KEY); CREATE INDEX people_id ON people (id);".utf8),
        down: Array("DROP TABLE people;".utf8))
    private static let pets = PostgresMigration(
        number: 2, name: "pets", up: Array("CREATE TABLE pets (id integer PRIMARY KEY)".utf8),
        down: Array("DROP TABLE pets".utf8))
    private static let broken = PostgresMigration(
        number: 3, name: "broken", up: Array("CREATE TABLE half (id integer); CREATE TABLE half (id integer)".utf8),
        down: [])

    @Test func upDownAndStatus() async throws {
        try await withDatabase { database in
            let connection = try await database.connect()
            let migrator = migrator(Self.pets, Self.people)
            #expect(try await migrator.status(on: connection).map(\.state) == [.pending, .pending])
            #expect(try await migrator.up(on: connection, to: 1) == ["1_people"])
            #expect(try await migrator.status(on: connection).map(\.state) == [.applied, .pending])
            #expect(try await migrator.up(on: connection) == ["2_pets"])
            #expect(try await migrator.up(on: connection) == [])
            #expect(try await tables(connection) == ["people", "pets"])
            #expect(try await migrator.down(on: connection, to: 0) == ["2_pets", "1_people"])
            #expect(try await tables(connection) == [])
        }
    }

    @Test func tenReplicasAtOnceMigrateOnce() async throws {
        try await withDatabase { database in
            let taken = try await withThrowingTaskGroup(of: [String].self) { group in
                for _ in 1...10 {
                    group.addTask {
                        let connection = try await database.connect()
                        return try await migrator(Self.people, Self.pets).up(on: connection)
                    }
                }
                return try await group.reduce([], +)
            }
            #expect(taken.sorted() == ["1_people", "2_pets"])
        }
    }

    @Test func aFailingMigrationLeavesNothing() async throws {
        try await withDatabase { database in
            let connection = try await database.connect()
            let timeout = try await connection.query("SHOW statement_timeout")[0].decode(String.self)
            let migrator = migrator(Self.people, Self.pets, Self.broken)
            let error = await #expect(throws: PostgresError.self) { try await migrator.up(on: connection) }
            #expect(error?.sqlState == "42P07")
            #expect(error?.message.contains("3_broken") == true)
            #expect(try await migrator.status(on: connection).map(\.state) == [.applied, .applied, .pending])
            #expect(try await tables(connection) == ["people", "pets"])
            // The lock is free again and the session as it was.
            #expect(try await connection.query("SHOW statement_timeout")[0].decode(String.self) == timeout)
            let other = try await database.connect()
            #expect(try await self.migrator(Self.people, Self.pets).up(on: other) == [])
        }
    }

    @Test func whoUsesATableDoesNotWaitBehindAMigrationThatWaits() async throws {
        try await withDatabase(migrations: .init(steps: [Self.people])) { database in
            let (holder, migrating, user) = (
                try await database.connect(), try await database.connect(), try await database.connect()
            )
            let wider = PostgresMigration(
                number: 2, name: "wider", up: Array("ALTER TABLE people ADD COLUMN name text".utf8), down: [])
            var migrator = migrator(Self.people, wider)
            migrator.lockTimeout = .milliseconds(100)
            try await holder.execute(script: "BEGIN; LOCK TABLE people IN ACCESS SHARE MODE")
            async let taken = migrator.up(on: migrating)
            try await eventually("the migration waits") {
                try await user.query(
                    "SELECT count(*) FROM pg_locks WHERE relation = 'people'::regclass AND NOT granted"
                )[0].decode(Int.self) == 1
            }
            _ = try await user.query("SELECT id FROM people")
            try await holder.execute(script: "COMMIT")
            #expect(try await taken == ["2_wider"])
        }
    }

    @Test func aChangedMigrationIsRefused() async throws {
        try await withDatabase(migrations: .init(steps: [Self.people])) { database in
            let connection = try await database.connect()
            let changed = PostgresMigration(number: 1, name: "people", up: Array("SELECT 1".utf8), down: [])
            let migrator = migrator(changed, Self.pets)
            #expect(try await migrator.status(on: connection).map(\.state) == [.changed, .pending])
            for attempt in [migrator.up, { on, _ in try await migrator.down(on: on, to: 0) }] {
                let error = await #expect(throws: PostgresError.self) { _ = try await attempt(connection, nil) }
                #expect(error?.code == .migration)
            }
            #expect(try await tables(connection) == ["people"])
        }
    }

    @Test func aNewerDatabaseIsLeftAlone() async throws {
        try await withDatabase(migrations: .init(steps: [Self.people, Self.pets])) { database in
            let connection = try await database.connect()
            let old = migrator(Self.people)
            #expect(try await old.up(on: connection) == [])
            #expect(try await old.status(on: connection).map(\.state) == [.applied, .unknown])
            let error = await #expect(throws: PostgresError.self) { try await old.down(on: connection, to: 0) }
            #expect(error?.code == .migration)
        }
    }

    @Test func numbersMustFollow() async throws {
        try await withDatabase(migrations: .init(steps: [Self.pets])) { database in
            let connection = try await database.connect()
            for migrator in [migrator(Self.people, Self.pets), migrator(Self.pets, Self.pets)] {
                let error = await #expect(throws: PostgresError.self) { try await migrator.up(on: connection) }
                #expect(error?.code == .migration)
            }
        }
    }

    // MARK: - Indexes of tables in use

    /// A step that builds an index of `people`.
    private static let indexed = indexed("CREATE INDEX CONCURRENTLY people_by_id\n    ON people (id);")
    private static let unique = indexed(
        "-- One row a name.\nCREATE UNIQUE INDEX CONCURRENTLY people_by_name ON people (id);",
        people: "CREATE TABLE people (id integer)")

    private static func indexed(
        _ statements: String, people: String = "CREATE TABLE people (id integer PRIMARY KEY)"
    ) -> PostgresMigrations {
        PostgresMigrations(steps: [
            PostgresMigration(number: 1, name: "people", up: Array(people.utf8), down: Array("DROP TABLE people".utf8)),
            PostgresMigration(number: 2, name: "indexed", indexes: Array(statements.utf8), up: [], down: []),
        ])
    }

    /// The schema before `indexed`.
    private static func before(_ indexed: PostgresMigrations) -> PostgresMigrations {
        PostgresMigrations(steps: Array(indexed.steps.prefix(1)))
    }

    /// Runs `body` while a build of `indexed` waits for a transaction that has written to the table.
    private func withBuildUnderWay(
        _ body: (LeasedDatabase, _ build: Task<[String], any Error>, _ finish: () async throws -> Void) async throws ->
            Void
    ) async throws {
        try await withDatabase(migrations: Self.before(Self.indexed)) { database in
            let (writer, building) = (try await database.connect(), try await database.connect())
            try await writer.execute(script: "BEGIN; INSERT INTO people VALUES (1)")
            var migrator = PostgresMigrator(migrations: Self.indexed, logger: .quiet)
            // A script that waited for the writer would keep others waiting for as long.
            migrator.lockTimeout = .seconds(60)
            let build = Task { [migrator] in try await migrator.up(on: building) }
            try await eventually("the index is built") { try await isValid("people_by_id", database) == false }
            try await body(database, build) { try await writer.execute(script: "COMMIT") }
            await writer.close()
        }
    }

    @Test func writersDoNotWaitForABuild() async throws {
        try await withBuildUnderWay { database, build, finish in
            try await database.pool.query("INSERT INTO people VALUES (2)", deadline: .now + .seconds(30))
            #expect(try await isValid("people_by_id", database) == false)
            try await finish()
            #expect(try await build.value == ["2_indexed"])
            #expect(try await isValid("people_by_id", database) == true)
        }
    }

    /// A migrator that waited in a statement would have a snapshot, and the build would wait for its end.
    @Test func aBuildIsNotKeptFromItsEndByAnotherMigrator() async throws {
        try await withBuildUnderWay { database, build, finish in
            let connection = try await database.connect()
            async let other = PostgresMigrator(migrations: Self.indexed, logger: .quiet).up(on: connection)
            try await eventually("the other one has asked for the lock") {
                try await database.pool.query(
                    """
                    SELECT count(*) FROM pg_stat_activity
                    WHERE datname = current_database() AND query LIKE 'SELECT pg_try_advisory_lock%'
                    """)[0].decode(Int.self) == 1
            }
            try await finish()
            #expect(try await build.value == ["2_indexed"])
            #expect(try await other == [])
            #expect(try await isValid("people_by_id", database) == true)
        }
    }

    @Test func anInterruptedBuildStartsAnew() async throws {
        try await withBuildUnderWay { database, build, finish in
            try await database.pool.query(
                """
                SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                WHERE datname = current_database() AND query LIKE 'CREATE INDEX CONCURRENTLY%'
                """)
            await #expect(throws: PostgresError.self) { try await build.value }
            #expect(try await isValid("people_by_id", database) == false)
            try await finish()
            let connection = try await database.connect()
            let migrator = PostgresMigrator(migrations: Self.indexed, logger: .quiet)
            #expect(try await migrator.status(on: connection).map(\.state) == [.applied, .pending])
            #expect(try await migrator.up(on: connection) == ["2_indexed"])
            #expect(try await isValid("people_by_id", database) == true)
        }
    }

    /// The server goes on after the death of the program, and the next program waits for that.
    @Test func theBuildOfADeadMigratorIsAwaited() async throws {
        try await withDatabase(migrations: Self.before(Self.indexed)) { database in
            var url = try #require(URLComponents(string: database.url))
            try await withTCPProxy(to: try #require(url.port)) { proxy in
                url.port = proxy.port
                let writer = try await database.connect()
                try await writer.execute(script: "BEGIN; INSERT INTO people VALUES (1)")
                let migrator = PostgresMigrator(migrations: Self.indexed, logger: .quiet)
                let building = try await PostgresConnection.patient(try #require(url.string))
                let build = Task { try await migrator.up(on: building) }
                try await eventually("the index is built") { try await isValid("people_by_id", database) == false }
                proxy.sever()
                await #expect(throws: PostgresError.self) { try await build.value }
                let connection = try await database.connect()
                async let other = migrator.up(on: connection)
                try await eventually("the other one has asked for the lock") {
                    try await database.pool.query(
                        """
                        SELECT count(*) FROM pg_stat_activity
                        WHERE datname = current_database() AND query LIKE 'SELECT pg_try_advisory_lock%'
                        """)[0].decode(Int.self) == 1
                }
                #expect(try await isValid("people_by_id", database) == false)
                try await writer.execute(script: "COMMIT")
                #expect(try await other == ["2_indexed"])
                #expect(try await isValid("people_by_id", database) == true)
                await writer.close()
            }
        }
    }

    /// Before its step, and after it: earlier versions took steps although an index of theirs was invalid.
    @Test func anInvalidIndexThatWasLeftBehindIsBuiltAnew() async throws {
        try await withDatabase(migrations: Self.before(Self.unique)) { database in
            let connection = try await database.connect()
            let migrator = PostgresMigrator(migrations: Self.unique, logger: .quiet)
            for taken in [["2_indexed"], []] {
                try await connection.execute(script: "DROP INDEX IF EXISTS people_by_name")
                try await connection.execute(script: "INSERT INTO people VALUES (1), (1)")
                await #expect(throws: PostgresError.self) {
                    try await connection.execute(
                        script: "CREATE UNIQUE INDEX CONCURRENTLY people_by_name ON people (id)")
                }
                #expect(try await isValid("people_by_name", database) == false)
                try await connection.execute(script: "DELETE FROM people")
                #expect(try await migrator.up(on: connection) == taken)
                #expect(try await isValid("people_by_name", database) == true)
            }
        }
    }

    /// An invalid unique index refuses rows, too.
    @Test func aUniqueIndexThatRowsContradictIsNotLeftBehind() async throws {
        try await withDatabase(migrations: Self.before(Self.unique)) { database in
            let connection = try await database.connect()
            try await connection.execute(script: "INSERT INTO people VALUES (1), (1)")
            let migrator = PostgresMigrator(migrations: Self.unique, logger: .quiet)
            let error = await #expect(throws: PostgresError.self) { try await migrator.up(on: connection) }
            #expect(error?.sqlState == .uniqueViolation)
            #expect(error?.message.contains("2_indexed") == true)
            #expect(try await isValid("people_by_name", database) == nil)
            #expect(try await migrator.status(on: connection).map(\.state) == [.applied, .pending])
        }
    }

    @Test(arguments: [
        "CREATE INDEX people_by_id ON people (id)", "CREATE INDEX CONCURRENTLY ON people (id)",
        "CREATE INDEX CONCURRENTLY IF NOT EXISTS people_by_id ON people (id)", "DROP TABLE people",
    ])
    func otherStatementsAreRefused(statement: String) async throws {
        try await withDatabase { database in
            let connection = try await database.connect()
            let migrator = PostgresMigrator(migrations: Self.indexed(statement), logger: .quiet)
            let error = await #expect(throws: PostgresError.self) { try await migrator.up(on: connection) }
            #expect(error?.code == .migration)
        }
    }

    /// nil if there is no such index.
    private func isValid(_ index: String, _ database: LeasedDatabase) async throws -> Bool? {
        try await database.pool.query("SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(\(index))")
            .decode(Bool.self).first
    }

    // MARK: -

    private func migrator(_ migrations: PostgresMigration...) -> PostgresMigrator {
        PostgresMigrator(migrations: .init(steps: migrations), logger: .quiet)
    }

    /// Without the migrator's own.
    private func tables(_ connection: PostgresConnection) async throws -> [String] {
        try await connection.query(
            """
            SELECT relname FROM pg_class
            WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace AND relname NOT LIKE 'schema\\_%'
            ORDER BY relname
            """
        ).decode(String.self)
    }
}
