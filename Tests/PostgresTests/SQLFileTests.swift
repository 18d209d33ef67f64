import Postgres
import TestKit
import Testing

@Suite struct SQLFileTests {
    private static let people = PostgresMigration(
        number: 1, name: "people", up: Array("CREATE TABLE people (name text)".utf8),
        down: Array("DROP TABLE people".utf8))
    private static let pets = PostgresMigration(
        number: 2, name: "pets", up: Array("CREATE TABLE pets (name text)".utf8), down: Array("DROP TABLE pets".utf8))

    /// A function `greeting` with this text, and a trigger that appends it to new names.
    private static func greetings(_ version: Int, _ text: String) -> PostgresSQLFile {
        PostgresSQLFile(
            name: "greetings",
            script: Array(
                """
                -- Version \(version)
                CREATE OR REPLACE FUNCTION greeting() RETURNS text LANGUAGE sql AS $$ SELECT '\(text)' $$;
                CREATE OR REPLACE FUNCTION greet() RETURNS trigger LANGUAGE plpgsql AS $$
                BEGIN
                    NEW.name := NEW.name || greeting();
                    RETURN NEW;
                END
                $$;
                CREATE OR REPLACE TRIGGER greet BEFORE INSERT ON people FOR EACH ROW EXECUTE FUNCTION greet();
                """.utf8))
    }

    private static let broken = PostgresSQLFile(
        name: "broken",
        script: Array("-- Version 1\nCREATE OR REPLACE FUNCTION half() RETURNS unknown_type LANGUAGE sql AS ''".utf8))

    private func migrator(
        _ files: PostgresSQLFile..., steps: [PostgresMigration] = [people]
    ) -> PostgresMigrator {
        PostgresMigrator(migrations: PostgresMigrations(steps: steps, files: files), logger: .quiet)
    }

    private func greeting(_ connection: PostgresConnection) async throws -> String {
        try await connection.query("SELECT greeting()")[0].decode(String.self)
    }

    private func states(
        _ migrator: PostgresMigrator, _ connection: PostgresConnection
    ) async throws -> [String] {
        try await migrator.fileStatus(on: connection).map { "\($0): \($0.state)" }
    }

    private func functions(_ connection: PostgresConnection) async throws -> [String] {
        try await connection.query(
            "SELECT proname::text FROM pg_proc WHERE pronamespace = 'public'::regnamespace ORDER BY proname"
        ).decode(String.self)
    }

    @Test("Files run after the steps, once")
    func filesFollowSteps() async throws {
        try await withDatabase { database in
            let connection = try await database.connect()
            let migrator = migrator(Self.greetings(1, " hello"))
            #expect(try await states(migrator, connection) == ["greetings.sql version 1: pending"])
            #expect(try await migrator.up(on: connection) == ["1_people", "greetings.sql"])
            #expect(try await states(migrator, connection) == ["greetings.sql version 1: applied"])
            try await connection.query("INSERT INTO people VALUES ('Ada')")
            #expect(try await connection.query("SELECT name FROM people")[0].decode(String.self) == "Ada hello")
            #expect(try await migrator.up(on: connection) == [])
        }
    }

    @Test("A higher version replaces the functions; an earlier program leaves them alone")
    func higherVersionsWin() async throws {
        try await withDatabase { database in
            let connection = try await database.connect()
            let (old, new) = (migrator(Self.greetings(9, "old")), migrator(Self.greetings(10, "new")))
            try await old.up(on: connection)
            #expect(try await states(new, connection) == ["greetings.sql version 10: pending"])
            #expect(try await new.up(on: connection) == ["greetings.sql"])
            #expect(try await greeting(connection) == "new")
            #expect(try await states(old, connection) == ["greetings.sql version 10: unknown"])
            #expect(try await old.up(on: connection) == [])
            #expect(try await greeting(connection) == "new")
        }
    }

    @Test("A file of a newer program is no concern of this one")
    func unknownFilesStay() async throws {
        try await withDatabase { database in
            let connection = try await database.connect()
            try await migrator(Self.greetings(1, "hello")).up(on: connection)
            #expect(try await states(migrator(), connection) == ["greetings.sql version 1: unknown"])
            #expect(try await migrator().up(on: connection) == [])
            #expect(try await greeting(connection) == "hello")
        }
    }

    @Test("Another text of the same version is refused before anything changes")
    func changedFilesAreRefused() async throws {
        try await withDatabase { database in
            let connection = try await database.connect()
            try await migrator(Self.greetings(1, "hello")).up(on: connection)
            let changed = migrator(Self.greetings(1, "bye"), steps: [Self.people, Self.pets])
            #expect(try await states(changed, connection) == ["greetings.sql version 1: changed"])
            let error = await #expect(throws: PostgresError.self) { try await changed.up(on: connection) }
            #expect(error?.code == .migration && error?.message.contains("greetings.sql version 1") == true)
            #expect(try await greeting(connection) == "hello")
            #expect(try await changed.status(on: connection).map(\.state) == [.applied, .pending])
        }
    }

    @Test("All files run or none")
    func aFailingFileUndoesTheOthers() async throws {
        try await withDatabase { database in
            let connection = try await database.connect()
            let migrator = migrator(Self.greetings(1, "hello"), Self.broken)
            let error = await #expect(throws: PostgresError.self) { try await migrator.up(on: connection) }
            #expect(error?.sqlState == "42704" && error?.message.hasPrefix("broken.sql: ") == true)
            #expect(try await functions(connection) == [])
            #expect(try await migrator.fileStatus(on: connection).map(\.state) == [.pending, .pending])
            #expect(try await migrator.status(on: connection).map(\.state) == [.applied])
        }
    }

    @Test("Files wait for the last step")
    func filesNeedAllSteps() async throws {
        try await withDatabase { database in
            let connection = try await database.connect()
            let migrator = migrator(Self.greetings(1, "hello"), steps: [Self.people, Self.pets])
            #expect(try await migrator.up(on: connection, to: 1) == ["1_people"])
            #expect(try await functions(connection) == [])
            #expect(try await migrator.up(on: connection) == ["2_pets", "greetings.sql"])
        }
    }

    @Test("After a step is undone, the next program's files run even if they are older")
    func undoingAStepForgetsVersions() async throws {
        try await withDatabase { database in
            let connection = try await database.connect()
            let new = migrator(Self.greetings(2, "new"), steps: [Self.people, Self.pets])
            try await new.up(on: connection)
            #expect(try await new.down(on: connection, to: 1) == ["2_pets"])
            #expect(try await greeting(connection) == "new")
            #expect(try await states(new, connection) == ["greetings.sql version 2: pending"])
            #expect(try await migrator(Self.greetings(1, "old")).up(on: connection) == ["greetings.sql"])
            #expect(try await greeting(connection) == "old")
        }
    }

    @Test("Undoing every step drops the functions, except those of extensions and other roles")
    func undoingEverythingDropsFunctions() async throws {
        try await withDatabase { database in
            let connection = try await database.connect()
            let role = "other_\(database.url.suffix(12))"
            try await connection.execute(
                script: """
                    CREATE EXTENSION plproxy;
                    CREATE ROLE "\(role)";
                    CREATE FUNCTION theirs() RETURNS integer LANGUAGE sql AS 'SELECT 1';
                    ALTER FUNCTION theirs() OWNER TO "\(role)";
                    """)
            let before = try await functions(connection)
            let migrator = migrator(Self.greetings(1, "hello"))
            try await migrator.up(on: connection)
            #expect(try await functions(connection) != before)
            try await migrator.down(on: connection, to: 0)
            #expect(try await functions(connection) == before)
            #expect(try await migrator.up(on: connection) == ["1_people", "greetings.sql"])
            try await connection.execute(script: "DROP FUNCTION theirs(); DROP ROLE \"\(role)\"")
        }
    }

    @Test(
        "A file without a version is refused",
        arguments: ["", "SELECT 1", "-- version 1", "-- Version 0", "-- Version x"])
    func filesHaveAVersion(script: String) async throws {
        try await withDatabase { database in
            let connection = try await database.connect()
            let migrator = migrator(PostgresSQLFile(name: "odd", script: Array(script.utf8)))
            let error = await #expect(throws: PostgresError.self) { try await migrator.up(on: connection) }
            #expect(error?.code == .migration && error?.message.hasPrefix("odd.sql ") == true)
        }
    }

    @Test("A database whose steps were numbered before is refused, with the way to a new one")
    func formerNumbersAreRefused() async throws {
        let former = PostgresMigration(
            number: 1, name: "init", up: Array("CREATE TABLE former (id integer)".utf8), down: [])
        try await withDatabase(migrations: .init(steps: [former, Self.pets])) { database in
            let connection = try await database.connect()
            let migrator = PostgresMigrator(
                migrations: .init(
                    steps: [Self.people], files: [Self.greetings(1, "hello")], replacement: "Create a new database."),
                logger: .quiet)
            #expect(try await migrator.status(on: connection).map(\.state) == [.replaced, .unknown])
            for attempt in [migrator.up, { on, _ in try await migrator.down(on: on, to: 0) }] {
                let error = await #expect(throws: PostgresError.self) { _ = try await attempt(connection, nil) }
                #expect(error?.code == .migration)
                #expect(error?.message.contains("1_init") == true)
                #expect(error?.message.hasSuffix(" Create a new database.") == true)
            }
            #expect(try await functions(connection) == [])
        }
    }
}
