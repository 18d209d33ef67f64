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
            #expect(try await migrator.up(on: connection, to: 1) == [1])
            #expect(try await migrator.status(on: connection).map(\.state) == [.applied, .pending])
            #expect(try await migrator.up(on: connection) == [2])
            #expect(try await migrator.up(on: connection) == [])
            #expect(try await tables(connection) == ["people", "pets", "schema_migrations"])
            #expect(try await migrator.down(on: connection, to: 0) == [2, 1])
            #expect(try await tables(connection) == ["schema_migrations"])
        }
    }

    @Test func tenReplicasAtOnceMigrateOnce() async throws {
        try await withDatabase { database in
            let taken = try await withThrowingTaskGroup(of: [Int].self) { group in
                for _ in 1...10 {
                    group.addTask {
                        let connection = try await database.connect()
                        return try await migrator(Self.people, Self.pets).up(on: connection)
                    }
                }
                return try await group.reduce([], +)
            }
            #expect(taken.sorted() == [1, 2])
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
            #expect(try await tables(connection) == ["people", "pets", "schema_migrations"])
            // The lock is free again and the session as it was.
            #expect(try await connection.query("SHOW statement_timeout")[0].decode(String.self) == timeout)
            let other = try await database.connect()
            #expect(try await self.migrator(Self.people, Self.pets).up(on: other) == [])
        }
    }

    @Test func whoUsesATableDoesNotWaitBehindAMigrationThatWaits() async throws {
        try await withDatabase(migrations: [Self.people]) { database in
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
            #expect(try await taken == [2])
        }
    }

    @Test func aChangedMigrationIsRefused() async throws {
        try await withDatabase(migrations: [Self.people]) { database in
            let connection = try await database.connect()
            let changed = PostgresMigration(number: 1, name: "people", up: Array("SELECT 1".utf8), down: [])
            let migrator = migrator(changed, Self.pets)
            #expect(try await migrator.status(on: connection).map(\.state) == [.changed, .pending])
            for attempt in [migrator.up, { on, _ in try await migrator.down(on: on, to: 0) }] {
                let error = await #expect(throws: PostgresError.self) { _ = try await attempt(connection, nil) }
                #expect(error?.code == .migration)
            }
            #expect(try await tables(connection) == ["people", "schema_migrations"])
        }
    }

    @Test func aNewerDatabaseIsLeftAlone() async throws {
        try await withDatabase(migrations: [Self.people, Self.pets]) { database in
            let connection = try await database.connect()
            let old = migrator(Self.people)
            #expect(try await old.up(on: connection) == [])
            #expect(try await old.status(on: connection).map(\.state) == [.applied, .unknown])
            let error = await #expect(throws: PostgresError.self) { try await old.down(on: connection, to: 0) }
            #expect(error?.code == .migration)
        }
    }

    @Test func numbersMustFollow() async throws {
        try await withDatabase(migrations: [Self.pets]) { database in
            let connection = try await database.connect()
            for migrations in [[Self.people, Self.pets], [Self.pets, Self.pets]] {
                let migrator = PostgresMigrator(migrations: migrations, logger: .quiet)
                let error = await #expect(throws: PostgresError.self) { try await migrator.up(on: connection) }
                #expect(error?.code == .migration)
            }
        }
    }

    private func migrator(_ migrations: PostgresMigration...) -> PostgresMigrator {
        PostgresMigrator(migrations: migrations, logger: .quiet)
    }

    private func tables(_ connection: PostgresConnection) async throws -> [String] {
        try await connection.query(
            """
            SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace
            ORDER BY relname
            """
        ).decode(String.self)
    }
}
