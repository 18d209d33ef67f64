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
        _ = try await pgbench(["-i", "-q", "-s", "1"])
        Table.line(try await throughPool())
        Table.line(try await throughConnections())
        Table.line(try await byPgbench())
        _ = try await pgbench(["-i", "-I", "d"])
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
        let seconds = max(1, Int(schedule.measured.seconds))
        let before = (client: Self.cpuTimeOfEndedChildren(), server: try server.cpuTime())
        let report = try await pgbench(["-M", "prepared", "-S", "-c", "\(workers)", "-j", "2", "-T", "\(seconds)"])
        let after = (client: Self.cpuTimeOfEndedChildren(), server: try server.cpuTime())
        guard let number = report.firstMatch(of: /actually processed: ([0-9]+)/)?.1, let operations = Int(number) else {
            throw BenchmarkError("pgbench told no number of transactions: \(report)")
        }
        return Measurement(
            name: "pgbench -M prepared -S", operations: operations, elapsed: .seconds(seconds),
            cpu: [("pgbench", after.client - before.client), (server.name, after.server - before.server)])
    }

    /// Returns what `pgbench` prints.
    private func pgbench(_ arguments: [String]) async throws -> String {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["pgbench"] + arguments + [url]
        let output = Pipe()
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try await withCheckedThrowingContinuation { (ended: CheckedContinuation<Void, any Error>) in
            process.terminationHandler = { _ in ended.resume() }
            do { try process.run() } catch { ended.resume(throwing: error) }
        }
        guard process.terminationStatus == 0 else { throw BenchmarkError("pgbench \(arguments) failed") }
        // What it prints fits into the pipe.
        return String(decoding: try output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
    }

    private static func cpuTimeOfEndedChildren() -> Duration {
        var usage = rusage()
        getrusage(RUSAGE_CHILDREN.rawValue, &usage)
        return .seconds(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec)
            + .microseconds(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec)
    }
}
