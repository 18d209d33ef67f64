import Foundation

/// `pgbench`, PostgreSQL's own benchmark.
struct PGBench {
    let url: String
    /// The PostgreSQL process.
    let server: WatchedProcess

    /// Makes its own tables.
    ///
    /// - Parameters:
    ///   - rows: of `pgbench_accounts`; a multiple of 100,000.
    ///   - fillFactor: in per cent; below 100 its updates are heap-only ones.
    func initialize(rows: Int, fillFactor: Int = 100) async throws {
        _ = try await run(["-i", "-q", "-s", "\(rows / 100_000)", "-F", "\(fillFactor)"])
    }

    func drop() async throws {
        _ = try await run(["-i", "-I", "d"])
    }

    /// Repeats what `arguments` choose over as many connections as there are workers, and counts its own CPU time and
    /// the server's.
    func measure(
        _ name: String, _ arguments: [String], workers: Int, schedule: Schedule
    ) async throws -> Measurement {
        try await measure(name, arguments + ["-T", "\(schedule.wholeSeconds)"], workers: workers)
    }

    /// The same with a script.
    ///
    /// - Parameter variables: `:name` in the script.
    func measure(
        _ name: String, script: String, variables: [String: String] = [:], workers: Int, until limit: Limit
    ) async throws -> Measurement {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("bench-\(UUID().uuidString).sql")
        try script.write(to: file, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(at: file) }
        let variables = variables.flatMap { ["-D", "\($0.key)=\($0.value)"] }
        let end =
            switch limit {
            case .schedule(let schedule): ["-T", "\(schedule.wholeSeconds)"]
            case .operations(let operations): ["-t", "\(operations / workers)"]
            }
        return try await measure(name, ["-n", "-f", file.path] + variables + end, workers: workers)
    }

    enum Limit {
        case schedule(Schedule)
        case operations(Int)
    }

    private func measure(_ name: String, _ arguments: [String], workers: Int) async throws -> Measurement {
        let before = try server.cpuTime()
        let report = try await run(["-M", "prepared", "-c", "\(workers)", "-j", "2"] + arguments)
        let after = try server.cpuTime()
        guard let number = report.output.firstMatch(of: /actually processed: ([0-9]+)/)?.1,
            let operations = Int(number)
        else { throw BenchmarkError("pgbench told no number of transactions: \(report.output)") }
        return Measurement(
            name: name, operations: operations, elapsed: report.elapsed,
            cpu: [("pgbench", report.cpu), (server.name, after - before)])
    }

    private func run(_ arguments: [String]) async throws -> Tool {
        try await Tool.run(["pgbench"] + arguments + [url])
    }
}
