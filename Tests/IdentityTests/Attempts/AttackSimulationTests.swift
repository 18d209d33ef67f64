import GatehouseServiceContracts
import Testing

@testable import IdentityCore

/// Attackers and a user over simulated days. What they were allowed is printed; docs/benchmarks.md has the figures.
@Suite struct AttackSimulationTests {
    private static let day = 86_400
    private static let users = (0..<100_000).map { Identifier.email(try! EmailAddress("user\($0)@example.com")) }
    private static let victim = users[0]

    /// A user who signs in each half hour, and mistypes the password once each time.
    private struct Victim {
        var name: String
        var address: String
        var device: SessionDevice?
        var tries = 0
        /// Right passwords that were not compared.
        var failures = 0

        mutating func signIn(_ limits: AttemptLimits) async throws {
            _ = try await limits.admits(AttackSimulationTests.victim, from: address, on: device, isRight: false)
            tries += 1
            if try await !limits.admits(AttackSimulationTests.victim, from: address, on: device, isRight: true) {
                failures += 1
            }
        }
    }

    private struct Outcome {
        /// Passwords that were compared, in each day.
        var guesses: [Int] = []
        /// Of them those of the account that had the most.
        var most: [Int] = []
        var victims: [Victim]
    }

    /// - Parameters:
    ///   - days: that are simulated.
    ///   - interval: seconds between two guesses.
    ///   - guess: from which address, at whose account, by the guess's number.
    private func simulate(
        _ name: String, days: Int = 2, every interval: Int, _ victims: [Victim],
        guess: (Int) -> (address: String, user: Int)
    ) async throws -> Outcome {
        let counter = SimulatedAttemptCounter()
        let limits = AttemptLimits(
            counter: counter, knownDevices: SimulatedDevices(), keys: .sample)
        var outcome = Outcome(victims: victims)
        var number = 0
        for _ in 0..<days {
            var counts: [Int: Int] = [:]
            for second in stride(from: 0, to: Self.day, by: interval) {
                let (address, user) = guess(number)
                number += 1
                if try await limits.admits(Self.users[user], from: address, isRight: false) {
                    counts[user, default: 0] += 1
                }
                if second % 1800 == 0 {
                    for index in outcome.victims.indices { try await outcome.victims[index].signIn(limits) }
                }
                counter.pass(seconds: Double(interval))
            }
            outcome.guesses.append(counts.values.reduce(0, +))
            outcome.most.append(counts.values.max() ?? 0)
        }
        let days = outcome.most.map { "\($0)" }.joined(separator: ", then ")
        let failures = outcome.victims.map { "; \($0.name) failed \($0.failures) of \($0.tries)" }.joined()
        print("\(name): guesses at one account in a day \(days); in all \(outcome.guesses.reduce(0, +))\(failures)")
        return outcome
    }

    private static let onKnownDevice = Victim(
        name: "on a known device", address: "home", device: SimulatedDevices.known)
    private static let onNewDevice = Victim(name: "on a new device", address: "home")

    @Test func oneAddress() async throws {
        let beside = Victim(
            name: "at the stranger's address, known device", address: "a", device: SimulatedDevices.known)
        let outcome = try await simulate(
            "one address", every: 5, [Self.onKnownDevice, Self.onNewDevice, beside]
        ) { _ in ("a", 0) }
        #expect(outcome.most[0] <= 126 && outcome.most[1] <= 96)
        #expect(outcome.victims.allSatisfy { $0.failures == 0 && $0.tries == 96 })
    }

    @Test func aBotnetOfTenThousand() async throws {
        let outcome = try await simulate(
            "a botnet of 10,000", every: 2, [Self.onKnownDevice, Self.onNewDevice]
        ) { ("bot \($0 % 10_000)", 0) }
        #expect(outcome.most[0] <= 780 && outcome.most[1] <= 480)
        #expect(outcome.victims[0].failures == 0)
        // What is left then is a device that is known, Apple, or a new password.
        #expect(outcome.victims[1].failures > 0)
    }

    @Test func credentialStuffing() async throws {
        let outcome = try await simulate(
            "stuffing over 100,000 identifiers by 10,000 addresses", days: 1, every: 1,
            [Self.onKnownDevice, Self.onNewDevice]
        ) { ("bot \($0 % 10_000)", $0 % 100_000) }
        // One password for each account, as leaked lists have it: no user is kept out by that.
        #expect(outcome.most[0] == 1)
        #expect(outcome.victims.allSatisfy { $0.failures == 0 && $0.tries == 48 })
    }

    @Test func credentialStuffingByOneAddress() async throws {
        let counter = SimulatedAttemptCounter()
        let limits = AttemptLimits(
            counter: counter, knownDevices: SimulatedDevices(), keys: .sample)
        var guesses = 0
        let hour = 3600
        for second in 0..<hour {
            // Until one is refused.
            while try await limits.admits(Self.users[guesses], from: "a", isRight: false) { guesses += 1 }
            if second == 0 { #expect(guesses == 600) }
            counter.pass(seconds: 1)
        }
        print("stuffing by one address: \(guesses) identifiers in the first hour, one guess each")
        #expect(guesses <= 600 + 5 * hour)
    }
}
