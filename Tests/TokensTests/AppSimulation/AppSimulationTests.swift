import Foundation
import Testing

/// Apps that lose answers, are killed, are offline, have wrong clocks and locked devices. `make simulate` runs it with
/// 1,000 of them.
@Suite struct AppSimulationTests {
    @Test("A month of apps' lives: nobody is signed out unless somebody asked for it") func month() async throws {
        let apps = ProcessInfo.processInfo.environment["GATEHOUSE_SIMULATED_APPS"].flatMap { Int($0) } ?? 10
        let simulation = AppSimulation(apps: apps, seed: 1)
        let results = try await simulation.run()
        print(simulation.table(of: results))

        let ours = results[0]
        #expect(ours.outcome.signOuts == 0)
        #expect(ours.outcome.refused == 0)
        // Without losses it would prove nothing.
        #expect(ours.outcome.network.lostAnswers > apps)
        #expect(ours.outcome.network.kills > 0)
        // And they are such as end sessions where nothing is forgiven, whatever the client does.
        for result in results { #expect(result.strictSignOuts > apps / 2, "\(result.name)") }
    }
}
