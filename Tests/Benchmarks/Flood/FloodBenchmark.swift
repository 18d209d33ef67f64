import AsyncHTTPClient
import Foundation
import GatehouseServiceContracts
import NIOCore
import NIOHTTP1

/// What refreshes and health checks notice of a flood of sign-ins: the same, idle and under flood, in turn.
struct FloodBenchmark: Sendable {
    let system: RunningSystem
    let client: GatewayClient
    let environmentFile: String
    /// Of each idle time and each flood.
    let seconds: Int

    private static let rounds = 3
    /// Seconds.
    private static let warmUp = 2
    private static let refreshers = 8
    /// Between two refreshes of one client.
    private static let pause = Duration.milliseconds(100)

    func run() async throws {
        var sessions: [AuthResponse] = []
        for _ in 0..<Self.refreshers { sessions.append(try await client.newSession()) }
        var refreshTokens = sessions.map(\.refreshToken)
        var (idle, flooded) = (Times(), Times())
        var statuses: [String] = []
        var ratios: [Double] = []
        for _ in 0..<Self.rounds {
            let quiet = try await observe(&refreshTokens, for: .seconds(seconds))
            let flood = try startFlood()
            // Until its clients are there.
            try await Task.sleep(for: .seconds(Self.warmUp))
            let during = try await observe(&refreshTokens, for: .seconds(seconds))
            statuses.append(try await end(of: flood))
            ratios.append(during.refreshes.percentile(99) / quiet.refreshes.percentile(99))
            idle += quiet
            flooded += during
        }
        Table.title("A flood of sign-ins: \(FloodClients.count) clients with wrong passwords, refreshes beside them")
        Table.columns("milliseconds", ["refresh p50", "p99", "refused", "/livez p50", "longest", "not healthy"])
        for (name, times) in [("idle", idle), ("under flood", flooded)] {
            let refreshes = [50, 99].map { times.refreshes.percentile($0) }
            let health = [times.health.percentile(50), times.health.max() ?? 0]
            let cells = refreshes.map(Self.text) + ["\(times.refused)"] + health.map(Self.text) + ["\(times.unhealthy)"]
            Table.columns(name, cells)
        }
        let text = ratios.map { Table.ratio($0) }.joined(separator: ", ")
        Table.note("p99 under flood by p99 idle: \(text); median \(Table.ratio(ratios.percentile(50)))")
        Table.note("What the flood was answered: \(statuses.joined(separator: "; "))")
    }

    private static func text(_ value: Double) -> String { String(format: "%.1f", value) }

    // MARK: What is watched

    /// Milliseconds.
    private struct Times: Sendable {
        var refreshes: [Double] = []
        var refused = 0
        var health: [Double] = []
        /// Answers other than 200.
        var unhealthy = 0

        static func += (sum: inout Times, next: Times) {
            sum.refreshes += next.refreshes
            sum.refused += next.refused
            sum.health += next.health
            sum.unhealthy += next.unhealthy
        }
    }

    /// - Parameter refreshTokens: of each session the newest.
    private func observe(_ refreshTokens: inout [String], for duration: Duration) async throws -> Times {
        let end = ContinuousClock.now + duration
        let addresses = try ["gateway", "identity", "tokens"].map {
            try system.value("\($0.uppercased())_ADMIN_URL") + "/livez"
        }
        var times = Times()
        try await withThrowingTaskGroup(of: (Int?, String, Times).self) { group in
            for (number, token) in refreshTokens.enumerated() {
                group.addTask {
                    var (token, times) = (token, Times())
                    while ContinuousClock.now < end {
                        let started = ContinuousClock.now
                        // Who is told to come later does so with the same token.
                        if let next = try? await client.refresh(token).refreshToken {
                            token = next
                        } else {
                            times.refused += 1
                        }
                        times.refreshes.append((.now - started) / .milliseconds(1))
                        try await Task.sleep(for: Self.pause)
                    }
                    return (number, token, times)
                }
            }
            for address in addresses {
                group.addTask {
                    var times = Times()
                    while ContinuousClock.now < end {
                        let started = ContinuousClock.now
                        let answer = try await client.http.execute(
                            HTTPClientRequest(url: address), timeout: .seconds(10))
                        _ = try await answer.body.collect(upTo: 1 << 16)
                        times.health.append((.now - started) / .milliseconds(1))
                        if answer.status != .ok { times.unhealthy += 1 }
                        try await Task.sleep(for: Self.pause)
                    }
                    return (nil, "", times)
                }
            }
            for try await (number, token, part) in group {
                if let number { refreshTokens[number] = token }
                times += part
            }
        }
        return times
    }

    // MARK: The flood

    private struct Flood {
        var process: Process
        var output: Pipe
    }

    /// A process of its own, so that what its clients cost is not in the times that are measured here; at the lowest
    /// priority, because in life they have machines of their own.
    private func startFlood() throws -> Flood {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/nice")
        process.arguments = [
            "-n", "19", CommandLine.arguments[0], "--environment-file", environmentFile, "--upstream-port", "0",
            "--only",
            "flood-clients", "--seconds", "\(seconds + Self.warmUp)",
        ]
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        return Flood(process: process, output: output)
    }

    private func end(of flood: Flood) async throws -> String {
        let data = try flood.output.fileHandleForReading.readToEnd() ?? Data()
        flood.process.waitUntilExit()
        return String(decoding: data, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
    }
}

extension [Double] {
    /// The value that so many percent do not exceed; 0 of none.
    func percentile(_ percent: Int) -> Double {
        guard !isEmpty else { return 0 }
        return sorted()[Swift.min(count - 1, (count * percent) / 100)]
    }
}
