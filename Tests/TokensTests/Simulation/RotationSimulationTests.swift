import Foundation
import Testing

@testable import TokensService

/// Devices that lose responses, are killed and have wrong clocks, and thieves. `make simulate` runs it with 10,000
/// devices.
@Suite struct RotationSimulationTests {
    @Test func nobodyIsSignedOutAndEveryThiefIsFound() async {
        let devices = ProcessInfo.processInfo.environment["GATEHOUSE_SIMULATED_DEVICES"].flatMap { Int($0) } ?? 200
        let simulation = RotationSimulation(devices: devices, thieves: max(40, devices / 100), seed: 1)
        let gatehouse = await simulation.run("Gatehouse", GatehouseChain.self)
        let strict = await simulation.run("strict, no grace", StrictChain.self)
        print(simulation.table(of: [gatehouse, strict]))

        #expect(gatehouse.spuriousLogouts == 0)
        for found in gatehouse.rotationsUntilFound.values { #expect(found.count == simulation.thieves / 2) }
        // While the device sleeps, a thief rotates alone and cannot be found: only taking turns has a bound.
        #expect(gatehouse.rotationsUntilFound[.takingTurns]?.last ?? .max <= RotationRules().lateReplayLimit + 2)
        // The simulation does lose responses: without any, it would prove nothing.
        #expect(strict.spuriousLogouts > devices / 2)
    }
}
