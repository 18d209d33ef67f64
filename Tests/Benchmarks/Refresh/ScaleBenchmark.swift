import Foundation
import Logging
import Postgres

/// What a refresh and its UPDATE cost among few sessions and among many, beside pgbench's own UPDATE, whose table grows
/// the same way; how large the table has become after as many rotations; and what partitions save VACUUM.
struct ScaleBenchmark {
    let system: RunningSystem
    let client: GatewayClient
    let schedule: Schedule
    /// The many; a multiple of 100,000.
    let sessions: Int
    let rotations: Int

    private static let few = 100_000
    private static let workers = 16
    private static let partitions = 32
    /// More than are refreshed in any run.
    private static let tokensPerSecond = 3_000

    func run() async throws {
        guard sessions > Self.few, sessions.isMultiple(of: 100_000) else {
            throw BenchmarkError("the number of sessions must be a multiple of 100,000, and more than that")
        }
        let table = try await SessionTable.open(system.value("TOKENS_DATABASE_URL"))
        try await table.fill(to: Self.few)
        let small = try await lines(table, Self.few)
        try await rotate(table)
        try await table.fill(to: sessions, present: Self.few)
        let large = try await lines(table, sessions)
        try await vacuum(table)
        await table.connection.close()
        report(small, large)
    }

    private func lines(_ table: SessionTable, _ sessions: Int) async throws -> [Measurement] {
        Table.header("Among \(sessions) sessions")
        let pgbench = try pgbench()
        // Filled as the table of sessions is.
        try await pgbench.initialize(rows: sessions, fillFactor: 70)
        try await system.checkpoint()
        let statement = RefreshStatement(sessions: sessions)
        let lines = [
            try await refresh(table, sessions),
            // A signature costs the same at any size: it shows how the machine itself has changed meanwhile.
            try await OpenSSLSpeed.rsa2048(seconds: schedule.wholeSeconds).sign,
            try await pgbench.measure(
                "pgbench: a refresh's UPDATE", script: statement.script, variables: statement.variables,
                workers: Self.workers, until: .schedule(schedule)),
            try await pgbench.measure(
                "pgbench: its own UPDATE",
                script: """
                    \\set aid random(1, \(sessions))
                    \\set delta random(-5000, 5000)
                    UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;
                    """, workers: Self.workers, until: .schedule(schedule)),
        ]
        for line in lines { Table.line(line) }
        try await pgbench.drop()
        return lines
    }

    /// Each session once, so that all of the table is gone over and not a few rows.
    private func refresh(_ table: SessionTable, _ sessions: Int) async throws -> Measurement {
        let seconds = (schedule.warmUp + schedule.measured).seconds
        let tokens = try await table.tokens(of: sessions, count: Int(seconds) * Self.tokensPerSecond)
        let shares = (0..<Self.workers).map { worker in
            tokens.indices.filter { $0 % Self.workers == worker }.map { tokens[$0] }
        }
        return try await measure(
            "refresh", workers: shares, watching: system.processes("gateway", "tokens", "postgres", "redis"),
            schedule: schedule
        ) { share in
            guard let token = share.popLast() else { throw BenchmarkError("too few sessions for so fast a machine") }
            _ = try await client.refresh(token)
        }
    }

    private func rotate(_ table: SessionTable) async throws {
        Table.header("\(rotations) rotations of \(Self.few) sessions")
        let before = try await table.size()
        let statement = RefreshStatement(sessions: Self.few)
        // The data is thrown away, and the disk's speed is not measured.
        let line = try await pgbench(options: "?options=-c%20synchronous_commit%3Doff").measure(
            "pgbench: a refresh's UPDATE", script: statement.script, variables: statement.variables,
            workers: Self.workers, until: .operations(rotations))
        let after = try await table.size()
        Table.line(line)
        let share = Double(after.heapOnlyUpdates - before.heapOnlyUpdates) / Double(after.updates - before.updates)
        Table.note("Heap-only updates: \(String(format: "%.2f", share * 100)) %.")
        Table.note("Table: \(growth(before.table, after.table)). Indexes: \(growth(before.indexes, after.indexes)).")
    }

    /// What VACUUM reads before transaction numbers run out: all of a table, or all of a partition.
    private func vacuum(_ table: SessionTable) async throws {
        Table.title("VACUUM (FREEZE) of \(sessions) sessions")
        let whole = try await vacuum("sessions", on: table.connection)
        let logger = Logger(label: "bench")
        try await PostgresMigrator(migrations: .init(), logger: logger).partition(
            into: Self.partitions, on: table.connection)
        var largest = Duration.zero
        for number in 0..<Self.partitions {
            largest = max(largest, try await vacuum("sessions_p\(number)", on: table.connection))
        }
        Table.note(
            "PostgreSQL's CPU time: \(whole) for the table, at most \(largest) for one of \(Self.partitions) partitions "
                + "(\(Table.ratio(largest / whole)) times).")
    }

    /// - Returns: PostgreSQL's CPU time.
    private func vacuum(_ table: String, on connection: PostgresConnection) async throws -> Duration {
        let server = try system.process("postgres")
        let before = try server.cpuTime()
        try await connection.execute(
            script: "VACUUM (FREEZE, DISABLE_PAGE_SKIPPING) \(table)", deadline: .now + .seconds(3600))
        return try server.cpuTime() - before
    }

    private func growth(_ before: Int64, _ after: Int64) -> String {
        func megabytes(_ bytes: Int64) -> String { Table.number(Double(bytes) / 1_000_000) }
        return "\(megabytes(before)) MB before, \(megabytes(after)) MB after"
            + " (\(Table.ratio(Double(after) / Double(before))) times)"
    }

    private func report(_ small: [Measurement], _ large: [Measurement]) {
        Table.title("Growth from \(Self.few) to \(sessions) sessions")
        let growth = zip(small, large).map { $1.microsecondsInAll / $0.microsecondsInAll }
        for (line, factor) in zip(small, growth) { Table.note("\(line.name): \(Table.ratio(factor)) times.") }
        Table.note(
            "A refresh grew \(Table.ratio(growth[0] / growth[3])) times as much as pgbench's own UPDATE, its UPDATE "
                + "\(Table.ratio(growth[2] / growth[3])) times; target: at most 1.25.")
    }

    private func pgbench(options: String = "") throws -> PGBench {
        PGBench(url: try system.value("TOKENS_DATABASE_URL") + options, server: try system.process("postgres"))
    }
}
