import ArgumentParser
import AsyncHTTPClient
import NIOPosix

@main
struct Bench: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bench",
        abstract: "Measures operations per second and CPU time per operation.",
        discussion: "`make bench` starts what it measures and stops it again.")

    @Option(help: "The env file of the running system.")
    var environmentFile: String

    @Option(help: "Where the gateway's route /bench leads.")
    var upstreamPort: Int

    @Option(help: "Seconds that each line is measured.")
    var seconds = 5

    @Option(help: "What to measure.")
    var only: [Part] = Part.allCases

    enum Part: String, CaseIterable, ExpressibleByArgument {
        case postgres
        case redis
        case accessToken = "access-token"
        case system
    }

    func run() async throws {
        let system = try RunningSystem(environmentFile: environmentFile)
        let schedule = Schedule(measured: .seconds(seconds))
        if only.contains(.postgres) {
            try await PostgresBenchmark(
                url: system.value("TOKENS_DATABASE_URL"), server: system.process("postgres"), schedule: schedule
            ).run()
        }
        if only.contains(.redis) {
            try await RedisBenchmark(
                url: system.value("REDIS_URL"), server: system.process("redis"), schedule: schedule
            ).run()
        }
        if only.contains(.accessToken) { try await AccessTokenBenchmark(schedule: schedule).run() }
        if only.contains(.system) { try await runSystem(system, schedule: schedule) }
    }

    private func runSystem(_ system: RunningSystem, schedule: Schedule) async throws {
        var configuration = HTTPClient.Configuration.singletonConfiguration
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 64
        let http = HTTPClient(eventLoopGroup: .singletonMultiThreadedEventLoopGroup, configuration: configuration)
        do {
            try await SystemBenchmarks(
                system: system, client: GatewayClient(origin: system.value("GATEWAY_URL"), http: http),
                schedule: schedule, upstreamPort: upstreamPort
            ).run()
        } catch {
            try await http.shutdown()
            throw error
        }
        try await http.shutdown()
    }
}
