import Foundation
import Postgres

/// The same prepared SELECT through the driver and by `pgbench -M prepared -S`, in turn in one run.
struct PostgresBenchmark {
    /// A database in which tables may be made; those of `pgbench` are made and dropped again.
    let url: String
    /// The server that listens there.
    let server: WatchedProcess
    let schedule: Schedule

    private let workers = 16
    private let rows = 100_000

    func run() async throws {
        Table.header("PostgreSQL: one row by its key, \(workers) at a time")
        try await pgbench.initialize(rows: rows)
        Table.line(try await throughPool())
        Table.line(try await throughConnections())
        Table.line(try await byPgbench())
        try await pgbench.drop()
    }

    private func throughPool() async throws -> Measurement {
        var limits = PostgresPoolConfiguration()
        limits.maximumConnections = workers
        let pool = PostgresPool(configuration: try PostgresConfiguration(url: url), pool: limits)
        defer { pool.close() }
        return try await measure(
            "driver, pool of \(workers)", workers: Array(repeating: pool, count: workers), watching: [.this, server],
            schedule: schedule
        ) { pool in try await select(on: pool) }
    }

    private func throughConnections() async throws -> Measurement {
        var connections: [PostgresConnection] = []
        for _ in 0..<workers {
            connections.append(try await PostgresConnection.connect(PostgresConfiguration(url: url)))
        }
        let measurement = try await measure(
            "driver, a connection for each", workers: connections, watching: [.this, server], schedule: schedule
        ) { connection in try await select(on: connection) }
        for connection in connections { await connection.close() }
        return measurement
    }

    private func select(on database: some PostgresQuerying) async throws {
        let key = Int32.random(in: 1...Int32(rows))
        let result = try await database.query("SELECT abalance FROM pgbench_accounts WHERE aid = \(key)")
        _ = try result.decode(Int32.self)
    }

    private func byPgbench() async throws -> Measurement {
        try await pgbench.measure("pgbench -M prepared -S", ["-S"], workers: workers, schedule: schedule)
    }

    private var pgbench: PGBench { PGBench(url: url, server: server) }
}
