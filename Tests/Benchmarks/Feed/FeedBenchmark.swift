import AsyncHTTPClient
import Foundation
import GatehouseServiceContracts
import NIOCore
import NIOHTTP1
import Postgres

/// What an idle system costs, and what the revocation feed costs its sequencer and readers among a million entries,
/// while a snapshot keeps PostgreSQL from discarding anything.
struct FeedBenchmark {
    let system: RunningSystem
    let http: HTTPClient
    let schedule: Schedule

    private static let entries = 1_000_000

    func run() async throws {
        try await idle()
        // They would apply the entries meanwhile.
        let readers = try system.processes("gateway", "identity", "devices")
        for reader in readers { kill(reader.id, SIGSTOP) }
        do {
            defer { for reader in readers { kill(reader.id, SIGCONT) } }
            try await measureFeed()
        }
        // For a second after a stop, a service refuses requests that may have waited while it was stopped.
        try await Task.sleep(for: .seconds(2))
    }

    private func measureFeed() async throws {
        let url = try system.value("TOKENS_DATABASE_URL")
        let table = try await RevocationTable.open(url)
        try await table.addToLog(1, aliveEvery: 1)
        Table.header("Revocation feed, one reader at a time")
        let before = try await costs("few entries")
        let holder = try await PostgresConnection.connect(PostgresConfiguration(url: url))
        try await holder.query("BEGIN ISOLATION LEVEL REPEATABLE READ")
        try await holder.query("SELECT count(*) FROM revocation_log")
        try await table.revoke(Self.entries / 10)
        try await table.addToLog(Self.entries * 9 / 10, aliveEvery: Self.entries)
        // Longer than the service's looks go back.
        try await Task.sleep(for: .seconds(11))
        let after = try await costs("a million, snapshot held")
        Table.line(try await sweep("sweep of everything, at most 1/2000 of the time", reach: "NULL"))
        await holder.close()
        for (few, many) in zip(before, after) {
            let ratio = Table.ratio(many.microsecondsInAll / few.microsecondsInAll)
            Table.note("\(many.name): \(ratio) times as much")
        }
        try await readAll()
        try await table.empty()
        await table.close()
    }

    /// CPU time of each process while nothing happens.
    private func idle() async throws {
        let processes = try system.processes("gateway", "identity", "tokens", "devices", "postgres", "redis")
        let seconds = max(20, schedule.measured.seconds)
        let before = try processes.map { try $0.cpuTime() }
        try await Task.sleep(for: .seconds(seconds))
        let after = try processes.map { try $0.cpuTime() }
        Table.title("Idle: CPU time in ms a second, over \(Int(seconds)) s")
        let costs = zip(before, after).map { ($1 - $0).seconds * 1000 / seconds }
        for (process, cost) in zip(processes, costs) { Table.columns(process.name, [Table.number(cost)]) }
        Table.columns("together", [Table.number(costs.reduce(0, +))])
    }

    /// The sequencer's look for entries.
    ///
    /// - Parameter reach: how many seconds back; `NULL` for everything.
    private func sweep(_ name: String, reach: String) async throws -> Measurement {
        let connection = try await PostgresConnection.connect(
            PostgresConfiguration(url: system.value("TOKENS_DATABASE_URL")))
        let sweep = try await measure(
            name, workers: [connection], watching: system.processes("postgres"), schedule: schedule
        ) { connection in
            try await connection.query("SELECT stamped, head FROM stamp_revocations(\(unescaped: reach), 1000)")
        }
        await connection.close()
        return sweep
    }

    /// The sequencer's usual look, and a reader's poll at the feed's end.
    private func costs(_ state: String) async throws -> [Measurement] {
        let sweep = try await sweep("sweep, \(state)", reach: "10")
        let latest: RevocationPage = try await page(after: RevocationPage.latest)
        let poll = try await measure(
            "poll, \(state)", workers: [latest.cursor], watching: system.processes("tokens", "postgres"),
            schedule: schedule
        ) { end in
            let _: AccessRevocationPage = try await page(after: end, form: "access")
        }
        for line in [sweep, poll] { Table.line(line) }
        return [sweep, poll]
    }

    /// Reads the feed as a new gateway does.
    private func readAll() async throws {
        let processes = try system.processes("tokens", "postgres") + [.this]
        let before = try processes.map { try $0.cpuTime() }
        let start = ContinuousClock.now
        var cursor: String?
        var count = 0
        while true {
            let page: AccessRevocationPage = try await page(after: cursor, form: "access")
            count += page.entries?.count ?? 0
            cursor = page.cursor
            if !page.more { break }
        }
        let seconds = (ContinuousClock.now - start).seconds
        let cpu = try zip(processes, before).map {
            "\($0.name) \(Table.number((try $0.cpuTime() - $1).seconds * 1000))"
        }
        Table.note(
            "A new gateway reads \(count) of a million entries in \(String(format: "%.2f", seconds)) s; CPU time in ms: "
                + cpu.joined(separator: ", "))
    }

    private func page<Page: Decodable>(after cursor: String?, form: String = "") async throws -> Page {
        let query = "?form=\(form)" + (cursor.map { "&after=\($0)" } ?? "")
        var request = HTTPClientRequest(url: try system.value("TOKENS_URL") + "/internal/revocations" + query)
        request.headers.add(name: HeaderName.credential, value: try system.secret("GATEWAY_TOKENS_SECRET"))
        let response = try await http.execute(request, timeout: .seconds(60))
        let body = try await response.body.collect(upTo: 1 << 24)
        guard response.status == .ok else { throw BenchmarkError("the feed answered \(response.status)") }
        return try JSON.decode(Page.self, from: Data(body.readableBytesView))
    }
}
