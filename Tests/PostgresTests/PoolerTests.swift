import Foundation
@testable import Postgres
import TestKit
import Testing

/// PgBouncer in transaction mode between driver and server.
@Suite struct PoolerTests {
    @Test(arguments: [[], ["ignore_startup_parameters = options"]])
    func isNoticedWhereNobodyHasToldOfIt(settings: [String]) async throws {
        try await withDatabase { database in
            try await withPgBouncer(for: database.url, settings: settings) { url in
                let error = await #expect(throws: PostgresError.self) { try await PostgresConnection.patient(url) }
                #expect(error?.code == .connectionFailed && error?.reason == .unknownPooler)
                #expect(error?.message.contains("pooler: transaction") == true)
            }
        }
    }

    @Test func statementsOfManyClientsShareFewSessions() async throws {
        try await withDatabase { database in
            try await withPgBouncer(for: database.url) { url in
                let pools = try (1...2).map { _ in
                    PostgresPool(configuration: try configuration(url), pool: .patient, logger: .quiet)
                }
                defer { pools.forEach { $0.close() } }
                try await pools[0].query("CREATE TABLE kept (value bigint)")
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for number in 1...100 {
                        group.addTask {
                            let pool = pools[number % 2]
                            let same = try await pool.query("SELECT \(number) + 1")
                            #expect(try same[0].decode(Int.self) == number + 1)
                            let other = try await pool.query("SELECT \(number) * \(unescaped: "\(number % 5)")")
                            #expect(try other[0].decode(Int.self) == number * (number % 5))
                            try await pool.withTransaction { transaction in
                                try await transaction.query("INSERT INTO kept VALUES (\(number))")
                                try await transaction.query("UPDATE kept SET value = -value WHERE value = \(number)")
                            }
                        }
                    }
                    try await group.waitForAll()
                }
                let sum = try await database.pool.query("SELECT sum(value)::bigint, count(*) FROM kept")
                #expect(try sum[0].decode((Int, Int).self) == (-5050, 100))
            }
        }
    }

    @Test func settingsHoldInEachTransaction() async throws {
        try await withDatabase { database in
            try await database.pool.query(
                """
                DO $$ BEGIN
                    EXECUTE format('ALTER DATABASE %I SET synchronous_commit = off', current_database());
                END $$
                """)
            try await withPgBouncer(for: database.url) { url in
                var configuration = try configuration(url)
                configuration.lockTimeout = .seconds(41)
                let connection = try await PostgresConnection.connect(configuration)
                let settings: PostgresQuery = """
                    SELECT current_setting('synchronous_commit'), current_setting('lock_timeout'),
                        current_setting('TimeZone')
                    """
                let expected = ("on", "41s", "UTC")
                #expect(try await connection.query(settings)[0].decode((String, String, String).self) == expected)
                let inTransaction = try await connection.withTransaction { transaction in
                    try await transaction.query("SELECT 1")
                    return try await transaction.query(settings)[0].decode((String, String, String).self)
                }
                #expect(inTransaction == expected)
                try await connection.execute(
                    script: """
                        DO $$ BEGIN ASSERT current_setting('synchronous_commit') = 'on'; END $$
                        """)

                configuration.statementTimeout = .milliseconds(100)
                let impatient = try await PostgresConnection.connect(configuration)
                for _ in 1...2 {
                    let error = await #expect(throws: PostgresError.self) {
                        try await impatient.query("SELECT pg_sleep(60)", deadline: .now + .seconds(60))
                    }
                    #expect(error?.sqlState == .queryCanceled)
                }
                // The session that it was lent serves the others as before.
                #expect(try await connection.query(settings)[0].decode((String, String, String).self) == expected)
                await connection.close()
                await impatient.close()
            }
        }
    }

    @Test func whatNeedsASessionIsRefused() async throws {
        try await withDatabase { database in
            try await withPgBouncer(for: database.url) { url in
                let connection = try await PostgresConnection.connect(configuration(url))
                let migrator = PostgresMigrator(migrations: .init(), logger: .quiet)
                let error = await #expect(throws: PostgresError.self) { try await migrator.up(on: connection) }
                #expect(error?.code == .migration && error?.message.contains("pooler") == true)
                await connection.close()
                let options = await #expect(throws: PostgresError.self) {
                    try await PostgresConnection.connect(configuration(url + "?options=-c%20geqo=off"))
                }
                #expect(options?.code == .invalidConfiguration)
            }
        }
    }

    private func configuration(_ url: String) throws -> PostgresConfiguration {
        var configuration = try PostgresConfiguration.patient(url)
        configuration.pooler = .transaction
        configuration.needsPrimary = true
        return configuration
    }
}
