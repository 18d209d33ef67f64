import Foundation
import Postgres
import TestKit
import Testing

@Suite struct ConnectionTests {
    @Test func badSQLIsAnErrorAndTheConnectionGoesOn() async throws {
        try await withDatabase { database in
            let connection = try await database.connect()
            let error = await #expect(throws: PostgresError.self) { try await connection.query("SELEKT 1") }
            #expect(error?.code == .server)
            #expect(error?.sqlState == "42601")
            #expect(error?.isUnavailable == false)
            #expect(try await connection.query("SELECT 1")[0].decode(Int.self) == 1)
        }
    }

    @Test func aRefusedRowNamesTheConstraintAndNotTheValue() async throws {
        try await withDatabase { database in
            let connection = try await database.connect()
            try await connection.execute(
                script:
                    "CREATE TABLE people (email text CONSTRAINT people_email UNIQUE); INSERT INTO people VALUES ('ada')"
            )
            let error = await #expect(throws: PostgresError.self) {
                try await connection.query("INSERT INTO people (email) VALUES (\("ada"))")
            }
            #expect(error?.sqlState == .uniqueViolation)
            #expect(error?.constraint == "people_email")
            #expect(error?.description.contains("ada") == false)
        }
    }

    @Test func rowsAndCommandsAreCounted() async throws {
        try await withDatabase { database in
            let connection = try await database.connect()
            try await connection.query("CREATE TABLE numbers (value integer)")
            let inserted = try await connection.query("INSERT INTO numbers SELECT generate_series(1, 5)")
            #expect((inserted.affectedRows, inserted.count) == (5, 0))
            let deleted = try await connection.query("DELETE FROM numbers WHERE value > 3 RETURNING value")
            #expect((deleted.affectedRows, deleted.count) == (2, 2))
            #expect(try deleted.decode(Int.self).sorted() == [4, 5])
        }
    }

    @Test func theSessionHasTimeoutsAndUTC() async throws {
        try await withDatabase { database in
            var configuration = try PostgresConfiguration.patient(database.url)
            configuration.statementTimeout = .milliseconds(1234)
            configuration.lockTimeout = .milliseconds(567)
            configuration.idleInTransactionTimeout = .seconds(8)
            configuration.usesGenericPlans = true
            configuration.applicationName = "a test"
            let connection = try await PostgresConnection.connect(configuration)
            let names = [
                "statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout", "TimeZone",
                "plan_cache_mode", "application_name", "client_encoding",
            ]
            let values = try await connection.query(
                "SELECT array_agg(current_setting(name)) FROM unnest(\(names)) AS name")
            #expect(
                try values[0].decode([String].self) == [
                    "1234ms", "567ms", "8s", "UTC", "force_generic_plan", "a test", "UTF8",
                ])
        }
    }

    @Test func theServersTimeoutLeavesTheConnectionUsable() async throws {
        try await withDatabase { database in
            var configuration = try PostgresConfiguration.patient(database.url)
            configuration.statementTimeout = .milliseconds(50)
            let connection = try await PostgresConnection.connect(configuration)
            let error = await #expect(throws: PostgresError.self) {
                try await connection.query("SELECT pg_sleep(60)", deadline: .now + .seconds(30))
            }
            #expect(error?.sqlState == .queryCanceled)
            #expect(error?.isUnavailable == true)
            #expect(try await connection.query("SELECT 1")[0].decode(Int.self) == 1)
        }
    }

    @Test func aPassedDeadlineClosesTheConnection() async throws {
        try await withDatabase { database in
            let connection = try await database.connect()
            var timeout = Duration.milliseconds(50)
            var error: PostgresError?
            repeat {
                // On a busy machine the deadline may pass before the statement is sent.
                timeout *= 2
                error = await #expect(throws: PostgresError.self) {
                    try await connection.query("SELECT pg_sleep(60)", deadline: .now + timeout)
                }
            } while error?.outcomeIsUnknown == false
            #expect(error?.code == .timedOut)
            #expect(error?.outcomeIsUnknown == true)
            #expect(connection.isClosed)
            let next = await #expect(throws: PostgresError.self) { try await connection.query("SELECT 1") }
            #expect(next?.code == .closed)
        }
    }

    @Test func aStatementIsNotSentAfterItsDeadline() async throws {
        try await withDatabase { database in
            let connection = try await database.connect()
            let error = await #expect(throws: PostgresError.self) {
                try await connection.query("CREATE TABLE late ()", deadline: .now - .milliseconds(1))
            }
            #expect(error?.code == .timedOut)
            #expect(error?.outcomeIsUnknown == false)
            #expect(try await connection.query("SELECT to_regclass('late') IS NULL")[0].decode(Bool.self))
        }
    }

    @Test func cancellingATaskClosesTheConnection() async throws {
        try await withDatabase { database in
            let connection = try await database.connect()
            let identifier = try await connection.query("SELECT pg_backend_pid()")[0].decode(Int.self)
            let task = Task {
                try await connection.query("SELECT pg_sleep(60)", deadline: .now + .seconds(60))
            }
            try await eventually("the statement runs") {
                try await database.pool.query(
                    "SELECT state = 'active' FROM pg_stat_activity WHERE pid = \(identifier)")[0].decode(Bool.self)
            }
            task.cancel()
            let error = await #expect(throws: PostgresError.self) { try await task.value }
            #expect(error?.code == .cancelled)
            #expect(error?.isUnavailable == false)
            #expect(connection.isClosed)
        }
    }

    @Test func aCancelledTaskSendsNothing() async throws {
        try await withDatabase { database in
            let connection = try await database.connect()
            let task = Task {
                while !Task.isCancelled { await Task.yield() }
                try await connection.query("CREATE TABLE late ()")
            }
            task.cancel()
            let error = await #expect(throws: PostgresError.self) { try await task.value }
            #expect(error?.code == .cancelled)
            #expect(try await connection.query("SELECT to_regclass('late') IS NULL")[0].decode(Bool.self))
        }
    }

    @Test func aHundredMegabytesArrive() async throws {
        try await withDatabase { database in
            let connection = try await database.connect()
            let rows = try await connection.query(
                "SELECT repeat('x', 100000) || number FROM generate_series(1, 1000) AS number")
            #expect(try rows.decode(String.self).reduce(0) { $0 + $1.utf8.count } == 100_002_893)
            let cell = try await connection.query("SELECT repeat('y', 100000000)")
            #expect(try cell[0].decode(String.self).utf8.count == 100_000_000)
        }
    }

    @Test func aLargeParameterGoesOutWhileTheServerTalks() async throws {
        try await withDatabase { database in
            let connection = try await database.connect()
            let bytes = [UInt8](repeating: 7, count: 20_000_000)
            #expect(try await connection.query("SELECT \(bytes)")[0].decode([UInt8].self) == bytes)
        }
    }

    @Test func lostPreparedStatementsAreMadeAgain() async throws {
        try await withDatabase { database in
            let connection = try await database.connect()
            try await connection.query("CREATE TABLE things (a integer)")
            try await connection.query("INSERT INTO things VALUES (1)")
            for change in ["DEALLOCATE ALL", "ALTER TABLE things ALTER a TYPE bigint", "DISCARD ALL"] {
                #expect(try await connection.query("SELECT a FROM things")[0].decode(Int.self) == 1)
                try await connection.execute(script: change)
                #expect(try await connection.query("SELECT a FROM things")[0].decode(Int.self) == 1)
                try await connection.execute(script: change)
                // The first statement of a transaction carries BEGIN with it.
                let value = try await connection.withTransaction { transaction in
                    try await transaction.query("SELECT a FROM things")[0].decode(Int.self)
                }
                #expect(value == 1)
            }
        }
    }

    @Test func statementsBeyondTheLimitAreSentUnprepared() async throws {
        try await withDatabase { database in
            var configuration = try PostgresConfiguration.patient(database.url)
            configuration.preparedStatementLimit = 3
            let connection = try await PostgresConnection.connect(configuration)
            for number in 1...10 {
                let row = try await connection.query("SELECT \(unescaped: "\(number)") + \(1)")
                #expect(try row[0].decode(Int.self) == number + 1)
            }
            #expect(try await connection.query("SELECT count(*) FROM pg_prepared_statements")[0].decode(Int.self) == 3)
        }
    }

    @Test func theSameTextWithOtherTypesIsAnotherStatement() async throws {
        try await withDatabase { database in
            let connection = try await database.connect()
            #expect(try await connection.query("SELECT pg_typeof(\(1))::text")[0].decode(String.self) == "bigint")
            #expect(try await connection.query("SELECT pg_typeof(\("1"))::text")[0].decode(String.self) == "text")
            #expect(
                try await connection.query("SELECT pg_typeof(\(1.0))::text")[0].decode(String.self)
                    == "double precision")
        }
    }

    @Test func copyIsRefused() async throws {
        try await withDatabase { database in
            let connection = try await database.connect()
            await #expect(throws: PostgresError.self) { try await connection.query("COPY (SELECT 1) TO STDOUT") }
            #expect(try await database.pool.query("SELECT 1")[0].decode(Int.self) == 1)
        }
    }
}
