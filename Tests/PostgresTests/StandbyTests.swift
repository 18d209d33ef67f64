import Postgres
import TestKit
import Testing

/// What tests of a fail-over stand on: a standby that follows, is promoted, and is followed in its turn.
@Suite("Standby")
struct StandbyTests {
    @Test("follows, takes over, and is followed by the one before", .timeLimit(.minutes(5)))
    func failover() async throws {
        try await withPostgresServer { first in
            try await write("CREATE TABLE places (name text)", on: first)
            try await withPostgresStandby(of: first) { second in
                try await write("INSERT INTO places VALUES ('Rome')", on: first)
                try await second.catchUp(with: first)
                #expect(try await names(on: second) == ["Rome"])
                await #expect { try await write("INSERT INTO places VALUES ('Oslo')", on: second) } throws: { error in
                    (error as? PostgresError)?.sqlState == "25006"
                }
                try await second.promote()
                // The first server accepts this write: it does not know that it is no longer the primary.
                try await write("INSERT INTO places VALUES ('Atlantis')", on: first)
                try await write("INSERT INTO places VALUES ('Oslo')", on: second)

                try await first.follow(second)
                try await first.catchUp(with: second)
                #expect(try await names(on: first) == ["Rome", "Oslo"])
            }
        }
    }

    @Test("a synchronous one holds up commits while it is frozen", .timeLimit(.minutes(5)))
    func synchronous() async throws {
        try await withPostgresServer { primary in
            try await withPostgresStandby(of: primary, name: "second") { standby in
                try await primary.alter("synchronous_standby_names = 'second'")
                try await write("CREATE TABLE places (name text)", on: primary)
                await standby.freeze()
                let connection = try await PostgresConnection.patient(primary.url())
                await #expect { () async throws in
                    try await connection.query(
                        "INSERT INTO places VALUES ('Rome')", deadline: .now + .milliseconds(500))
                } throws: { error in
                    (error as? PostgresError)?.outcomeIsUnknown == true
                }
                await standby.thaw()
            }
        }
    }

    private func write(_ script: String, on server: PostgresServer) async throws {
        let connection = try await PostgresConnection.patient(server.url())
        defer { Task { await connection.close() } }
        try await connection.execute(script: script)
    }

    private func names(on server: PostgresServer) async throws -> [String] {
        let connection = try await PostgresConnection.patient(server.url())
        defer { Task { await connection.close() } }
        return try await connection.query("SELECT name FROM places").decode(String.self)
    }
}
