import TestKit

/// The same apps' lives with this package's client and with the rules of public ones, each against Gatehouse's rules of
/// rotation and against the strict one of RFC 9700.
struct AppSimulation {
    let apps: Int
    let seed: UInt64

    struct Result: Sendable {
        let name: String
        /// Against Gatehouse's rules.
        var outcome = AppLife.Outcome()
        /// How many apps were signed out though nobody had asked for it.
        var appsSignedOut = 0
        /// The same against the strict rule.
        var strictSignOuts = 0
    }

    func run() async throws -> [Result] {
        var results = [try await run("Gatehouse") { try GatehouseApp($0, $1) }]
        for sdk in PublicSDK.all { results.append(try await run(sdk.name) { PublicSDKApp(sdk, $0, $1) }) }
        return results
    }

    private func run(_ name: String, newApp: @escaping AppLife.Launch) async throws -> Result {
        var result = Result(name: name)
        for outcome in try await outcomes(newApp, newChain: { GatehouseChain() }) {
            result.outcome.requests += outcome.requests
            result.outcome.refused += outcome.refused
            result.outcome.signOuts += outcome.signOuts
            result.outcome.withTokens += outcome.withTokens
            result.outcome.network += outcome.network
            if outcome.signOuts > 0 { result.appsSignedOut += 1 }
        }
        result.strictSignOuts = try await outcomes(newApp, newChain: { StrictChain() }).reduce(0) { $0 + $1.signOuts }
        return result
    }

    private func outcomes(
        _ newApp: @escaping AppLife.Launch, newChain: @escaping @Sendable () -> any SessionChain
    ) async throws -> [AppLife.Outcome] {
        try await withThrowingTaskGroup(of: AppLife.Outcome.self) { group in
            var outcomes: [AppLife.Outcome] = []
            for number in 0..<apps {
                // Other tests need the threads as well.
                if number >= 4, let outcome = try await group.next() { outcomes.append(outcome) }
                group.addTask {
                    var random = SeededGenerator(seed: seed &+ UInt64(number) &* 0x1_0000_0001)
                    let plan = AppPlan(random: &random)
                    var life = AppLife(SimulatedDevice(random: &random, newChain: newChain), newApp: newApp)
                    return try await life.run(plan)
                }
            }
            return try await group.reduce(into: outcomes) { $0.append($1) }
        }
    }

    /// As Markdown.
    func table(of results: [Result]) -> String {
        let head = row([
            "\(apps) apps, \(AppPlan.days) days", "requests", "refreshes", "answers lost to them",
            "killed before a save", "signed out, nobody asked", "apps", "of these, tokens still stored",
            "requests refused", "signed out under the strict rule",
        ])
        let rows = results.map { result in
            let outcome = result.outcome
            return row(
                [result.name]
                    + [
                        outcome.requests, outcome.network.refreshes, outcome.network.lostAnswers, outcome.network.kills,
                        outcome.signOuts, result.appsSignedOut, outcome.withTokens, outcome.refused,
                        result.strictSignOuts,
                    ].map(String.init))
        }
        return ([head, "|---" + String(repeating: "|---:", count: 9) + "|"] + rows).joined(separator: "\n")
    }

    private func row(_ cells: [String]) -> String { "| " + cells.joined(separator: " | ") + " |" }
}
