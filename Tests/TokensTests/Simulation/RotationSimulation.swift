import TestKit

/// The same devices and thieves under Gatehouse's rules and under the strict one. docs/benchmarks.md has what the
/// published rules of other services did with them.
struct RotationSimulation {
    let devices: Int
    /// The first so many devices have one.
    let thieves: Int
    let seed: UInt64

    struct Result {
        let name: String
        var spuriousLogouts = 0
        var devicesSignedOut = 0
        /// Of the thieves that were found, in ascending order.
        var rotationsUntilFound: [DevicePlan.Thief: [Int]] = [.takingTurns: [], .hourly: []]
    }

    func run<Chain: SessionChain>(_ name: String, _: Chain.Type) async -> Result {
        var result = Result(name: name)
        for device in 0..<devices {
            // Other tests need the thread as well.
            await Task.yield()
            var random = SeededGenerator(seed: seed &+ UInt64(device) &* 0x1_0000_0001)
            let thief: DevicePlan.Thief? =
                device >= thieves ? nil : device.isMultiple(of: 2) ? .takingTurns : .hourly
            let plan = DevicePlan(thief: thief, random: &random)
            var simulation = DeviceSimulation<Chain>(plan, random: random)
            let outcome = simulation.run()
            result.spuriousLogouts += outcome.spuriousLogouts
            result.devicesSignedOut += outcome.spuriousLogouts > 0 ? 1 : 0
            if let thief, let rotations = outcome.rotationsUntilFound {
                result.rotationsUntilFound[thief]?.append(rotations)
            }
        }
        result.rotationsUntilFound = result.rotationsUntilFound.mapValues { $0.sorted() }
        return result
    }

    /// As Markdown.
    func table(of results: [Result]) -> String {
        let head = row([
            "\(devices) devices, \(DevicePlan.days) days", "spurious logouts", "devices signed out",
            "thieves taking turns: found", "rotations until then, median / most", "thieves asking every hour: found",
            "rotations until then, median / most",
        ])
        let rows = results.map { result in
            row(
                [result.name, "\(result.spuriousLogouts)", "\(result.devicesSignedOut)"]
                    + DevicePlan.Thief.allCases.flatMap { found(result.rotationsUntilFound[$0] ?? []) })
        }
        return ([head, "|---|---|---|---|---|---|---|"] + rows).joined(separator: "\n")
    }

    private func found(_ rotations: [Int]) -> [String] {
        let spread = rotations.isEmpty ? "–" : "\(rotations[rotations.count / 2]) / \(rotations[rotations.count - 1])"
        return ["\(rotations.count) of \(thieves / 2)", spread]
    }

    private func row(_ cells: [String]) -> String { "| " + cells.joined(separator: " | ") + " |" }
}
