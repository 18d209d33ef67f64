import ArgumentParser
import AsyncHTTPClient
import Foundation
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
    var only: [Part] = [.postgres, .redis, .accessToken, .refresh, .signIn, .feed, .push, .system, .client]

    @Option(help: "How many sessions the part `scale` goes up to.")
    var sessions = 10_000_000

    @Option(help: "How many registrations the part `push-scale` goes up to.")
    var registrations = 10_000_000

    @Option(help: "How many users the part `sign-in` goes up to.")
    var users = 1_000_000

    @Option(help: "How many rotations the part `scale` makes before it looks at the table's size.")
    var rotations = 1_000_000

    @Option(help: "How many requests of each kind the part `timing` sends.")
    var tries = 10_000

    @Option(help: "A Python interpreter with aioapns, for the part `push`.")
    var python = ""

    @OptionGroup
    var gateway: GatewayOptions

    enum Part: String, CaseIterable, ExpressibleByArgument {
        case postgres
        case redis
        case accessToken = "access-token"
        case refresh
        case signIn = "sign-in"
        /// The idle system, and the revocation feed.
        case feed
        /// Pushes to the simulated APNs, beside h2load and aioapns.
        case push
        /// Pushes among many registrations.
        case pushScale = "push-scale"
        case system
        /// What an app's library costs the app.
        case client
        /// Refreshes alone, for a profiler to look at.
        case load
        case scale
        /// Refreshes beside a flood of sign-ins.
        case flood
        /// Whether times tell who has an account.
        case timing
        /// The clients of that flood, in a process of their own.
        case floodClients = "flood-clients"
        /// The gateway beside Envoy and HAProxy: `make bench-gateway`.
        case gateway
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
        if only.contains(.gateway) {
            try await GatewayBenchmark.run(
                gateway, system: system, environmentFile: environmentFile, upstreamPort: upstreamPort,
                schedule: schedule)
        }
        if only.contains(.accessToken) { try await AccessTokenBenchmark(schedule: schedule).run() }
        if only.contains(.floodClients) {
            try await FloodClients(origin: system.value("GATEWAY_URL")).run(for: .seconds(seconds))
        }
        if only.contains(.flood) {
            try await withClient(of: system) { client in
                try await FloodBenchmark(
                    system: system, client: client, environmentFile: environmentFile, seconds: seconds
                ).run()
            }
        }
        if only.contains(.timing) {
            try await withClient(of: system) { client in
                try await TimingBenchmark(
                    system: system, client: client, tries: tries, upstreamPort: upstreamPort
                ).run()
            }
        }
        if only.contains(.feed) {
            try await FeedBenchmark(system: system, http: .shared, schedule: schedule).run()
        }
        let aioapns = python.isEmpty ? [] : [python, "\(gateway.peers)/aioapns-pushes.py"]
        let push = PushBenchmark(system: system, http: .shared, aioapns: aioapns)
        if only.contains(.push) { try await push.run() }
        if only.contains(.pushScale) {
            try await PushScaleBenchmark(push: push, schedule: schedule, registrations: registrations).run()
        }
        if only.contains(.client) {
            guard let gateway = URL(string: try system.value("GATEWAY_URL")) else {
                throw BenchmarkError("GATEWAY_URL is no URL")
            }
            try await ClientBenchmark(gateway: gateway, schedule: schedule).run()
        }
        let needClient: Set<Part> = [.refresh, .signIn, .system, .load, .scale]
        if !needClient.isDisjoint(with: only) {
            // Read here and not above: `bench-gateway.sh` stops the gateway before this program starts.
            let memory = try PrivateMemory(of: system.processes("gateway", "identity", "tokens", "devices"))
            try await PrivateMemory.$current.withValue(memory) {
                try await withClient(of: system) { client in
                    try await runThroughGateway(system, client, schedule: schedule)
                }
            }
            memory.report()
        }
    }

    private func runThroughGateway(_ system: RunningSystem, _ client: GatewayClient, schedule: Schedule) async throws {
        let refresh = RefreshBenchmark(system: system, client: client, schedule: schedule)
        if only.contains(.load) {
            Table.header("Refreshes")
            Table.line(try await refresh.refresh(schedule))
        }
        if only.contains(.refresh) { try await refresh.run() }
        if only.contains(.signIn) {
            try await SignInBenchmark(system: system, client: client, schedule: schedule, users: users).run()
        }
        if only.contains(.system) {
            try await SystemBenchmarks(
                system: system, client: client, schedule: schedule, upstreamPort: upstreamPort
            ).run()
        }
        if only.contains(.scale) {
            try await ScaleBenchmark(
                system: system, client: client, schedule: schedule, sessions: sessions, rotations: rotations
            ).run()
        }
    }

    private func withClient(of system: RunningSystem, _ body: (GatewayClient) async throws -> Void) async throws {
        var configuration = HTTPClient.Configuration.singletonConfiguration
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 64
        let http = HTTPClient(eventLoopGroup: .singletonMultiThreadedEventLoopGroup, configuration: configuration)
        do {
            try await body(GatewayClient(origin: system.value("GATEWAY_URL"), http: http))
        } catch {
            try await http.shutdown()
            throw error
        }
        try await http.shutdown()
    }
}
