import Redis

/// `redis-benchmark`, Redis' own benchmark.
struct RedisTool {
    let url: String
    /// The server that listens there.
    let server: WatchedProcess

    /// Repeats a command, and counts its own CPU time and the server's.
    func measure(
        _ name: String, _ command: [String], operations: Int, options: [String]
    ) async throws -> Measurement {
        let configuration = try RedisConfiguration(url: url)
        let before = try server.cpuTime()
        let report = try await Tool.run(
            ["redis-benchmark", "-h", configuration.host, "-p", "\(configuration.port)", "-n", "\(operations)", "-q"]
                + (configuration.password.map { ["-a", $0] } ?? []) + options + command)
        return Measurement(
            name: name, operations: operations, elapsed: report.elapsed,
            cpu: [("redis-benchmark", report.cpu), (server.name, try server.cpuTime() - before)])
    }
}
