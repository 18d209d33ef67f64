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

    func run() async throws {
        let system = try RunningSystem(environmentFile: environmentFile)
        let schedule = Schedule(measured: .seconds(seconds))
        try await RedisBenchmark(
            url: system.value("REDIS_URL"), server: system.process("redis"), schedule: schedule
        ).run()
        try AccessTokenBenchmark(schedule: schedule).run()
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
