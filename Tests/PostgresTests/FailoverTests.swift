import Foundation
@testable import Postgres
import Synchronization
import TestKit
import Testing

/// Addresses with several servers, of which some hang, are standbys, or were the primary until a moment ago.
@Suite(.timeLimit(.minutes(5))) struct FailoverTests {
    @Test func aStandbyThatWasThePrimaryIsNotTakenForOne() async throws {
        try await withPostgresServer { first in
            try await withPostgresStandby(of: first) { second in
                try await withPool(try configuration(first.port, second.port)) { pool in
                    try await pool.query("CREATE TABLE kept (value integer)")
                    #expect(await pool.probe())
                    try await second.catchUp(with: first)
                    await first.stop()
                    #expect(await !pool.probe())
                    try await second.promote()
                    try await first.follow(second)
                    // The first of the address answers again, and takes no writes.
                    try await eventually("the pool writes to the new primary") {
                        (try? await pool.query("INSERT INTO kept VALUES (1)")) != nil
                    }
                    for _ in 1...20 { try await pool.query("INSERT INTO kept VALUES (1)") }
                    #expect(await pool.probe())
                }
                // Of one that knows no other server.
                try await withPool(try configuration(first.port)) { pool in
                    let error = await #expect(throws: PostgresError.self) { try await pool.query("SELECT 1") }
                    #expect(error?.sqlState == .readOnlyTransaction && error?.isUnavailable == true)
                    #expect(await !pool.probe())
                }
            }
        }
    }

    @Test func connectionsAreNotKeptThatTakeNoWrites() async throws {
        try await withPostgresServer { server in
            var patient = try PostgresConfiguration.patient(server.url())
            patient.needsPrimary = true
            try await withPool(patient) { pool in
                try await pool.query("CREATE TABLE kept (value integer)")
                let connection = try await PostgresConnection.patient(server.url())
                // Its sessions stay, as when a pooler or proxy stands between.
                try await server.alter("default_transaction_read_only = on")
                let error = await #expect(throws: PostgresError.self) {
                    try await connection.query("INSERT INTO kept VALUES (1)")
                }
                #expect(error?.sqlState == .readOnlyTransaction)
                #expect(connection.isClosed)
                await #expect(throws: PostgresError.self) { try await pool.query("INSERT INTO kept VALUES (1)") }
                #expect(await !pool.probe())
                try await asking(server) { connection in
                    try await connection.execute(script: "SET default_transaction_read_only = off")
                    try await connection.execute(script: "ALTER SYSTEM SET default_transaction_read_only = off")
                    try await connection.execute(script: "SELECT pg_reload_conf()")
                }
                try await eventually("the pool writes again") {
                    (try? await pool.query("INSERT INTO kept VALUES (1)")) != nil
                }
                #expect(await pool.probe())
            }
        }
    }

    @Test func aServerThatHangsDoesNotKeepFromTheNext() async throws {
        let accepted = Mutex(0)
        try await withPostgresServer { server in
            try await withTCPServer(onAccept: { _ in accepted.withLock { $0 += 1 } }) { silent in
                var configuration = try configuration(silent, server.port)
                configuration.connectTimeout = .seconds(20)
                var limits = PostgresPoolConfiguration.patient
                limits.maximumConnections = 4
                try await withPool(configuration, limits) { pool in
                    try await pool.query("SELECT 1")
                    #expect(accepted.withLock(\.self) == 1)
                    // Who waited for it once does not wait for it again.
                    try await withThrowingTaskGroup(of: Void.self) { group in
                        for _ in 1...4 { group.addTask { try await pool.query("SELECT pg_sleep(0.2)") } }
                        try await group.waitForAll()
                    }
                    #expect(accepted.withLock(\.self) == 1)
                }
                let error = await #expect(throws: PostgresError.self) {
                    var impatient = try self.configuration(silent, silent)
                    impatient.connectTimeout = .milliseconds(200)
                    _ = try await PostgresConnection.connect(impatient)
                }
                #expect(error?.code == .timedOut)
            }
        }
    }

    @Test func aWrongPasswordIsTriedOnce() async throws {
        try await withPostgresServer { server in
            var wrong = try PostgresConfiguration.patient(url(ports: [server.port, server.port], password: "s3cret"))
            wrong.needsPrimary = true
            let error = await #expect(throws: PostgresError.self) { try await PostgresConnection.connect(wrong) }
            #expect(error?.sqlState == .invalidPassword)
            #expect(server.logText.components(separatedBy: "password authentication failed").count == 2)
        }
    }

    // MARK: -

    private func configuration(_ ports: Int...) throws -> PostgresConfiguration {
        var configuration = try PostgresConfiguration.patient(url(ports: ports))
        configuration.needsPrimary = true
        return configuration
    }

    private func url(ports: [Int], password: String = PostgresServer.password) -> String {
        let hosts = ports.map { "127.0.0.1:\($0)" }.joined(separator: ",")
        return "postgres://postgres:\(password.replacing(" ", with: "%20"))@\(hosts)/postgres?sslmode=disable"
    }

    private func withPool(
        _ configuration: PostgresConfiguration, _ limits: PostgresPoolConfiguration = .patient,
        _ body: (PostgresPool) async throws -> Void
    ) async throws {
        let pool = PostgresPool(configuration: configuration, pool: limits, logger: .quiet)
        let running = Task { await pool.run() }
        defer { running.cancel() }
        try await body(pool)
    }

    private func asking(_ server: PostgresServer, _ body: (PostgresConnection) async throws -> Void) async throws {
        let connection = try await PostgresConnection.patient(server.url())
        try await body(connection)
        await connection.close()
    }
}
