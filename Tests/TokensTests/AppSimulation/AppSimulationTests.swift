import Foundation
import Testing

/// Apps that lose answers, are killed, are offline, have wrong clocks and locked devices. `make simulate` runs it with
/// 1,000 of them.
@Suite struct AppSimulationTests {
    @Test("A month of apps' lives: no user is signed out without asking for it") func month() async throws {
        let apps = ProcessInfo.processInfo.environment["GATEHOUSE_SIMULATED_APPS"].flatMap { Int($0) } ?? 4
        let simulation = AppSimulation(apps: apps, seed: 1)
        let result = try await simulation.run()
        print(simulation.table(of: result))

        #expect(result.outcome.signOuts == 0)
        #expect(result.outcome.refused == 0)
        // Without losses it would prove nothing.
        #expect(result.outcome.network.lostAnswers > apps)
        #expect(result.outcome.network.kills > 0)
        // And they are such as end sessions where nothing is forgiven.
        #expect(result.strictSignOuts > apps / 2)
    }
}
