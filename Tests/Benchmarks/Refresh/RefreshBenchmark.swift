import Foundation
import GatehouseServiceContracts
import Logging
import NIOPosix
import Postgres
import Redis

/// A refresh through the gateway beside its parts: the same UPDATE by pgbench, a signature by `openssl speed`, two
/// commands by `redis-benchmark`, and a request that gateway and tokens answer without any of these.
///
/// All are measured in turn, several times over, since the speed of a shared machine changes from one moment to the
/// next.
struct RefreshBenchmark {
    let system: RunningSystem
    let client: GatewayClient
    let schedule: Schedule

    private static let rounds = 5
    private static let workers = 16
    private static let sessions = 100_000

    func run() async throws {
        Table.header("A refresh, and what it cannot do without")
        let table = try await SessionTable.open(system.value("TOKENS_DATABASE_URL"))
        try await table.fill(to: Self.sessions)
        await table.connection.close()
        var part = schedule
        part.measured = max(.seconds(1), schedule.measured / Self.rounds * 2)
        var lines = try await round(part)
        for _ in 1..<Self.rounds {
            for (index, again) in try await round(part).enumerated() { lines[index] += again }
        }
        for line in lines { Table.line(line) }
        report(refresh: lines[0], parts: Array(lines.dropFirst()))
    }

    /// The refresh first, then its parts.
    private func round(_ schedule: Schedule) async throws -> [Measurement] {
        let redis = try await redisCommands(schedule)
        return [
            try await refresh(schedule),
            try await update(schedule),
            try await OpenSSLSpeed.rsa2048(
                seconds: schedule.wholeSeconds, processes: ProcessInfo.processInfo.activeProcessorCount
            ).sign,
            redis.take, redis.release,
            try await emptyRequest(schedule),
        ]
    }

    private func report(refresh: Measurement, parts: [Measurement]) {
        let sum = parts.reduce(0) { $0 + $1.microsecondsInAll }
        let signature = parts[1].microsecondsInAll
        let cost = refresh.microsecondsInAll
        Table.note("The parts together take \(Table.number(sum)) µs.")
        Table.note("A refresh takes \(Table.ratio(cost / sum)) times that; target: at most 1.15.")
        Table.note(
            "A refresh takes \(Table.number(cost)) µs; target: at most 600 on a machine that signs in 200. "
                + "This one signs in \(Table.number(signature)); in proportion that is "
                + "\(Table.number(cost / signature * 200)).")
    }

    func refresh(_ schedule: Schedule) async throws -> Measurement {
        var sessions: [String] = []
        for _ in 0..<Self.workers { sessions.append(try await client.newSession().refreshToken) }
        return try await measure(
            "refresh", workers: sessions, watching: system.processes("gateway", "tokens", "postgres", "redis"),
            schedule: schedule
        ) { refreshToken in refreshToken = try await client.refresh(refreshToken).refreshToken }
    }

    private func update(_ schedule: Schedule) async throws -> Measurement {
        let statement = RefreshStatement(sessions: Self.sessions)
        return try await PGBench(url: system.value("TOKENS_DATABASE_URL"), server: system.process("postgres")).measure(
            "pgbench: its UPDATE", script: statement.script, variables: statement.variables, workers: Self.workers,
            until: .schedule(schedule))
    }

    /// What the race lock sends, one by one over one connection, as tokens does.
    private func redisCommands(_ schedule: Schedule) async throws -> (take: Measurement, release: Measurement) {
        let url = try system.value("REDIS_URL")
        let script = RedisScript(
            """
            if redis.call('GET', KEYS[1]) == ARGV[1] then
                return redis.call('DEL', KEYS[1])
            end
            return 0
            """)
        try await load(script, url: url)
        let redis = RedisTool(url: url, server: try system.process("redis"))
        let operations = 10_000 * schedule.wholeSeconds
        let options = ["-c", "1", "-r", "100000"]
        return (
            try await redis.measure(
                "redis-benchmark: SET NX PX", ["SET", "bench:lock:__rand_int__", "owner", "NX", "PX", "2000"],
                operations: operations, options: options),
            try await redis.measure(
                "redis-benchmark: compare and delete",
                ["EVALSHA", script.digest, "1", "bench:lock:__rand_int__", "owner"],
                operations: operations, options: options)
        )
    }

    private func load(_ script: RedisScript, url: String) async throws {
        let redis = RedisClient(
            configuration: try RedisConfiguration(url: url), eventLoopGroup: MultiThreadedEventLoopGroup.singleton,
            logger: Logger(label: "bench", factory: { _ in SwiftLogNoOpLogHandler() }))
        let running = Task { await redis.run() }
        defer { running.cancel() }
        try await redis.run(script, keys: ["bench:lock"], arguments: ["owner"], timeout: .seconds(5))
    }

    /// A logout with what is no token: a POST like a refresh, of the same length, that is answered without a look at
    /// the database.
    private func emptyRequest(_ schedule: Schedule) async throws -> Measurement {
        let noToken = String(repeating: "x", count: 97)
        return try await measure(
            "empty request (logout with no token)", workers: Array(repeating: client, count: Self.workers),
            watching: system.processes("gateway", "tokens"), schedule: schedule
        ) { client in try await client.logOut(refreshToken: noToken) }
    }
}
