import Foundation
import Logging
import NIOPosix
import Redis

/// `GET` through the driver, beside the same by `redis-benchmark` in the same run: over one pipelined connection,
/// as the driver works, and over a connection for each of those who ask.
struct RedisBenchmark {
    let url: String
    /// The server that listens there.
    let server: WatchedProcess
    let schedule: Schedule

    private let workers = 16
    private let key = "bench:get"

    func run() async throws {
        Table.header("Redis: GET of 64 bytes, \(workers) at a time")
        let driver = try await driverGet()
        Table.line(driver)
        let operations = max(driver.operations, 1_000)
        Table.line(
            try await redisBenchmark(
                "redis-benchmark, one connection", operations: operations, options: ["-c", "1", "-P", "\(workers)"]))
        Table.line(
            try await redisBenchmark(
                "redis-benchmark, \(workers) connections", operations: operations, options: ["-c", "\(workers)"]))
    }

    private func driverGet() async throws -> Measurement {
        let redis = RedisClient(
            configuration: try RedisConfiguration(url: url), eventLoopGroup: MultiThreadedEventLoopGroup.singleton,
            logger: Logger(label: "bench", factory: { _ in SwiftLogNoOpLogHandler() }))
        let running = Task { await redis.run() }
        defer { running.cancel() }
        let value = String(repeating: "x", count: 64)
        try await redis.send("SET", "\(key)", "\(value)", "EX", 600, timeout: .seconds(5))
        let key = RedisArgument(key)
        return try await measure(
            "driver", workers: Array(repeating: redis, count: workers), watching: [.this, server], schedule: schedule
        ) { redis in
            try await redis.send("GET", key, timeout: .seconds(5))
        }
    }

    private func redisBenchmark(_ name: String, operations: Int, options: [String]) async throws -> Measurement {
        try await RedisTool(url: url, server: server).measure(
            name, ["GET", key], operations: operations, options: options)
    }
}
