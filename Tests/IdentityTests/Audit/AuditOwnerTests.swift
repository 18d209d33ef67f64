import Foundation
import Postgres
import TestKit
import Testing

@testable import IdentityService

/// `deploy/postgres/audit-owner.sql`
@Suite struct AuditOwnerTests {
    /// Whether the role may do this; it is undone.
    private func mayDo(_ statement: String, as role: String, on connection: PostgresConnection) async throws -> Bool {
        struct Undo: Error {}
        do {
            try await connection.withTransaction { transaction in
                try await transaction.query("SET LOCAL ROLE \(unescaped: role)")
                try await transaction.query(PostgresQuery(unsafe: statement))
                throw Undo()
            }
        } catch is Undo {
            return true
        } catch let error as PostgresError {
            #expect(error.sqlState?.description == "42501", "\(error)")
        }
        return false
    }

    @Test func theServicesRoleAddsAndReadsAndRemovesWhatIsTooOld() async throws {
        try await withDatabase(migrations: Migrations.all) { database in
            let role = "identity_\(UUID().uuidString.prefix(8).lowercased())"
            let pool = database.pool
            try await pool.query("CREATE ROLE \(unescaped: role) NOLOGIN")
            for table in ["audit_entries", "audit_log", "audit_seals", "pending_audit_entries"] {
                try await pool.query("ALTER TABLE \(unescaped: table) OWNER TO \(unescaped: role)")
            }
            for function in ["audit_is_append_only()", "audit_entry_is_pending()"] {
                try await pool.query("ALTER FUNCTION \(unescaped: function) OWNER TO \(unescaped: role)")
            }
            try await pool.query(
                """
                INSERT INTO audit_entries (at, user_id, actor, event)
                SELECT now() - make_interval(days => days), gen_random_uuid(), 'user', 'signed_in'
                FROM unnest(ARRAY[800, 300]) AS days
                """)
            let connection = try await database.connect()
            let (add, read) = (
                "INSERT INTO audit_entries (user_id, actor, event) VALUES (gen_random_uuid(), 'user', 'x')",
                "SELECT count(*) FROM audit_entries, audit_seals"
            )
            let old = "DELETE FROM audit_entries WHERE at < now() - interval '730 days'"
            let young = "DELETE FROM audit_entries WHERE at > now() - interval '730 days'"
            let disarm = "ALTER TABLE audit_entries DISABLE TRIGGER USER"
            // As an owner it may turn the trigger off, and the trigger lets go whatever is older than a day.
            #expect(try await mayDo(disarm, as: role, on: connection))
            #expect(try await mayDo(young, as: role, on: connection))

            try await runPostgresScript("audit-owner.sql", ["name=\(role)", "days=730"], on: database.url)
            for statement in [add, read, old] {
                #expect(try await mayDo(statement, as: role, on: connection), "\(statement)")
            }
            for statement in [
                young, disarm, "TRUNCATE audit_entries", "UPDATE audit_entries SET actor = 'system'",
                "DROP TRIGGER append_only ON audit_entries", "ALTER TABLE audit_seals DISABLE TRIGGER USER",
                "CREATE OR REPLACE FUNCTION audit_is_append_only() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN END'",
                "CREATE OR REPLACE FUNCTION audit_entry_is_pending() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN END'",
            ] {
                #expect(try await !mayDo(statement, as: role, on: connection), "\(statement)")
            }

            try await runPostgresScript(
                "audit-owner.sql", ["name=\(role)", "days=730", "owner=\(role)"], on: database.url)
            #expect(try await mayDo(disarm, as: role, on: connection))
            await connection.close()
            for owner in [role, "\(role)_audit"] {
                try await pool.query("DROP OWNED BY \(unescaped: owner) CASCADE")
                try await pool.query("DROP ROLE \(unescaped: owner)")
            }
        }
    }

    /// A step with an index of the audit log needs the tables' owner, as does a new version of its triggers. Without
    /// it, they leave nothing half done.
    @Test func aMigrationOfTheLogTakesTheOwnersBack() async throws {
        try await withDatabase { database in
            let role = "identity_\(UUID().uuidString.prefix(8).lowercased())"
            let pool = database.pool
            try await pool.query("CREATE ROLE \(unescaped: role) LOGIN PASSWORD 'identity'")
            try await pool.query("GRANT CREATE ON SCHEMA public TO \(unescaped: role)")
            var url = try #require(URLComponents(string: database.url))
            (url.user, url.password) = (role, "identity")
            let connection = try await PostgresConnection.patient(try #require(url.string))
            try await PostgresMigrator(migrations: Migrations.all, logger: .quiet).up(on: connection)
            let later = PostgresMigration(
                number: Migrations.all.steps.count + 1, name: "later",
                indexes: Array("CREATE INDEX CONCURRENTLY later ON audit_entries (actor);".utf8),
                up: Array("SELECT".utf8), down: [])
            let (steps, files) = (Migrations.all.steps + [later], Migrations.all.files)
            let migrator = PostgresMigrator(migrations: .init(steps: steps, files: files), logger: .quiet)
            let newer = PostgresMigrator(
                migrations: .init(
                    steps: steps,
                    files: files.map {
                        PostgresSQLFile(name: $0.name, script: Array("-- Version 999\n".utf8) + $0.script)
                    }), logger: .quiet)

            try await runPostgresScript("audit-owner.sql", ["name=\(role)", "days=730"], on: database.url)
            let error = await #expect(throws: PostgresError.self) { try await migrator.up(on: connection) }
            #expect(error?.sqlState == "42501")
            #expect(error?.message == "migration \(later.number)_later: must be owner of table audit_entries")
            let invalid = try await pool.query("SELECT indexrelid FROM pg_index WHERE NOT indisvalid")
            #expect(invalid.isEmpty)

            try await runPostgresScript(
                "audit-owner.sql", ["name=\(role)", "days=730", "owner=\(role)"], on: database.url)
            #expect(try await migrator.up(on: connection) == ["\(later.number)_later"])
            try await runPostgresScript("audit-owner.sql", ["name=\(role)", "days=730"], on: database.url)
            #expect(try await migrator.up(on: connection) == [])
            let owned = await #expect(throws: PostgresError.self) { try await newer.up(on: connection) }
            #expect(owned?.sqlState == "42501" && owned?.message.hasPrefix("audit_entries.sql: must be owner") == true)
            try await runPostgresScript(
                "audit-owner.sql", ["name=\(role)", "days=730", "owner=\(role)"], on: database.url)
            #expect(try await newer.up(on: connection) == files.map { "\($0.name).sql" })
            try await runPostgresScript("audit-owner.sql", ["name=\(role)", "days=730"], on: database.url)
            await connection.close()
            for owner in [role, "\(role)_audit"] {
                try await pool.query("DROP OWNED BY \(unescaped: owner) CASCADE")
                try await pool.query("DROP ROLE \(unescaped: owner)")
            }
        }
    }
}
