import TestKit

/// The lives of apps with this package's client, against Gatehouse's rules of rotation and against the strict one of
/// RFC
/// 9700. docs/benchmarks.md has what public client libraries did in the same lives.
struct AppSimulation {
    let apps: Int
    let seed: UInt64

    struct Result: Sendable {
        /// Against Gatehouse's rules.
        var outcome = AppLife.Outcome()
        /// Against the strict rule, sign-outs that were not asked for.
        var strictSignOuts = 0
    }

    func run() async throws -> Result {
        var result = Result()
        for outcome in try await outcomes(newChain: { GatehouseChain() }) {
            result.outcome.requests += outcome.requests
            result.outcome.refused += outcome.refused
            result.outcome.signOuts += outcome.signOuts
            result.outcome.network += outcome.network
        }
        result.strictSignOuts = try await outcomes(newChain: { StrictChain() }).reduce(0) { $0 + $1.signOuts }
        return result
    }

    private func outcomes(newChain: @escaping @Sendable () -> any SessionChain) async throws -> [AppLife.Outcome] {
        try await withThrowingTaskGroup(of: AppLife.Outcome.self) { group in
            var outcomes: [AppLife.Outcome] = []
            for number in 0..<apps {
                // Other tests need the threads as well.
                if number >= 4, let outcome = try await group.next() { outcomes.append(outcome) }
                group.addTask {
                    var random = SeededGenerator(seed: seed &+ UInt64(number) &* 0x1_0000_0001)
                    let plan = AppPlan(random: &random)
                    var life = AppLife(SimulatedDevice(random: &random, newChain: newChain))
                    return try await life.run(plan)
                }
            }
            return try await group.reduce(into: outcomes) { $0.append($1) }
        }
    }

    /// As Markdown.
    func table(of result: Result) -> String {
        let outcome = result.outcome
        let cells = [
            outcome.requests, outcome.network.refreshes, outcome.network.lostAnswers, outcome.network.kills,
            outcome.signOuts, outcome.refused, result.strictSignOuts,
        ]
        return """
            | \(apps) apps, \(AppPlan.days) days: requests | refreshes | answers lost to them | killed before a save \
            | signed out, not asked for | requests refused | signed out under the strict rule |
            |---:|---:|---:|---:|---:|---:|---:|
            | \(cells.map(String.init).joined(separator: " | ")) |
            """
    }
}
