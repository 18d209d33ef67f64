import Foundation
import Postgres
import TestKit
import Testing

/// `deploy/postgres/service-database.sql`
@Suite struct ServiceDatabaseTests {
    private func privileges(of databases: [String], on connection: PostgresConnection) async throws -> [String] {
        let rows = try await connection.query(
            """
            SELECT datname || ' ' || COALESCE(datacl::text, 'default') FROM pg_database
            WHERE datname = ANY(\(databases)) ORDER BY datname
            """)
        return try rows.map { try $0.decode(String.self) }
    }

    private func mayConnect(
        _ role: String, to database: String, on connection: PostgresConnection
    ) async throws -> Bool {
        let rows = try await connection.query("SELECT has_database_privilege(\(role), \(database), 'CONNECT')")
        return try rows[0].decode(Bool.self)
    }

    @Test func theSharedDatabasesStayAsTheyAre() async throws {
        try await withPostgresServer { server in
            let connection = try await PostgresConnection.connect(PostgresConfiguration(url: server.url()))
            try await connection.query("CREATE ROLE rewind LOGIN")
            let shared = ["postgres", "template0", "template1"]
            let before = try await privileges(of: shared, on: connection)
            // Twice: it may be repeated.
            for service in ["tokens", "identity", "tokens"] {
                try await runPostgresScript(
                    "service-database.sql", ["name=\(service)"], environment: ["SERVICE_PASSWORD": "a \(service)"],
                    on: server.url())
            }
            #expect(try await privileges(of: shared, on: connection) == before)
            // Patroni's role, and an exporter's.
            #expect(try await mayConnect("rewind", to: "postgres", on: connection))
            #expect(try await mayConnect("rewind", to: "template1", on: connection))

            // A service's own database is for that service alone.
            #expect(try await mayConnect("tokens", to: "tokens", on: connection))
            for stranger in ["identity", "rewind"] {
                #expect(try await !mayConnect(stranger, to: "tokens", on: connection), "\(stranger)")
            }
            #expect(try await !mayConnect("tokens", to: "identity", on: connection))
            await connection.close()
        }
    }
}
