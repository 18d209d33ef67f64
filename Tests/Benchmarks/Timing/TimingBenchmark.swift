import AsyncHTTPClient
import Foundation
import GatehouseServiceContracts
import NIOCore
import NIOHTTP1

/// Whether the time of an answer tells a stranger who has an account: requests over sockets through the gateway, in
/// random order, one after the other.
struct TimingBenchmark {
    let system: RunningSystem
    let client: GatewayClient
    /// Of each case.
    let tries: Int
    /// Where the system sends messages.
    let upstreamPort: Int

    /// A stranger has this many guesses at an identifier in a day, from however many addresses. With so many of each
    /// kind two kinds whose area is nearer to 0.5 than this cannot be told apart with 95 % confidence: 1.96 × √(2 n +
    /// 1) / √(12 n²) for n of 780, rounded up.
    private static let usable = 0.03

    func run() async throws {
        let upstream = try await StaticUpstream.start(port: upstreamPort)
        let warmUp = min(tries, 50)
        let accounts = try await TimingAccounts(
            system: system, client: client, runs: warmUp + tries)
        // The first answers are those of a service that has just been started.
        _ = try await measure(accounts, tries: 0..<warmUp)
        let times = try await measure(accounts, tries: warmUp..<(warmUp + tries))
        try await upstream.stop()
        Table.title("Times of answers, \(tries) tries each")
        Table.columns("milliseconds", ["p10", "p50", "p90"])
        for kind in TimingCase.allCases {
            let values = times[kind] ?? []
            Table.columns(kind.rawValue, [10, 50, 90].map { String(format: "%.2f", values.percentile($0)) })
        }
        Table.title("Told apart by time: 0.5 is not at all, 1 is always")
        Table.columns("", ["area", "95 % interval", "verdict"])
        for (first, second) in TimingCase.pairs {
            line("\(first.rawValue) | \(second.rawValue)", RankComparison(times[first] ?? [], times[second] ?? []))
        }
        // What the program says where there is nothing to tell.
        let same = times[.unknownUser] ?? []
        let halves = [0, 1].map { rest in same.enumerated().filter { $0.offset % 2 == rest }.map(\.element) }
        line("one half of the unknown users | the other", RankComparison(halves[0], halves[1]))
    }

    private func line(_ name: String, _ comparison: RankComparison) {
        let verdict = comparison.verdict(usable: Self.usable).rawValue
        let interval = [comparison.area - comparison.margin, comparison.area + comparison.margin].map(Self.text)
        Table.columns(name, [Self.text(comparison.area), interval.joined(separator: "–"), "  " + verdict])
    }

    private static func text(_ value: Double) -> String { String(format: "%.4f", value) }

    private func measure(_ accounts: TimingAccounts, tries: Range<Int>) async throws -> [TimingCase: [Double]] {
        var times: [TimingCase: [Double]] = [:]
        for number in tries {
            for kind in TimingCase.allCases.shuffled() {
                let request = try request(kind, accounts.identifier(for: kind, in: number))
                let started = ContinuousClock.now
                let response = try await client.http.execute(request, timeout: .seconds(30))
                _ = try await response.body.collect(upTo: 1 << 20)
                times[kind, default: []].append((.now - started) / .milliseconds(1))
                guard response.status == kind.status else {
                    throw BenchmarkError("\(kind.rawValue) was answered \(response.status.code)")
                }
            }
        }
        return times
    }

    private func request(_ kind: TimingCase, _ identifier: String) throws -> HTTPClientRequest {
        var request = HTTPClientRequest(url: client.origin + kind.path)
        request.method = .POST
        request.headers.add(name: "Content-Type", value: "application/json")
        request.body = .bytes(ByteBuffer(bytes: try kind.body(identifier)))
        return request
    }
}
