import Synchronization
import TestKit

/// Strikes a running system with a random fault every two seconds.
final class FaultInjector: Sendable {
    private static let interval = Duration.seconds(2)

    private let system: GatehouseSystem
    private let proxy: TCPProxy
    private let struck = Mutex<Set<Fault.Victim>>([])

    init(system: GatehouseSystem, proxy: TCPProxy) {
        self.system = system
        self.proxy = proxy
    }

    /// Returns when everything has recovered.
    ///
    /// - Returns: the faults in their order.
    func run(until end: ContinuousClock.Instant, random: SeededGenerator) async throws -> [Fault] {
        var random = random
        var faults: [Fault] = []
        try await withThrowingTaskGroup(of: Void.self) { group in
            while ContinuousClock.now < end {
                // Real time has to pass: the clients are to meet each fault, and the recovery from it.
                try await Task.sleep(for: Self.interval)
                let fault = choose(using: &random)
                faults.append(fault)
                let number = random.next()
                group.addTask { [self] in
                    try await fault.strike(system, proxy: proxy, random: number)
                    _ = struck.withLock { $0.remove(fault.victim) }
                }
            }
            try await group.waitForAll()
        }
        return faults
    }

    /// A fault whose victim is well. The network is struck in no time, so there is always one.
    private func choose(using random: inout SeededGenerator) -> Fault {
        struck.withLock { struck in
            let fault = Fault.allCases.filter { !struck.contains($0.victim) }.randomElement(using: &random)
            let chosen = fault ?? .answerCut
            struck.insert(chosen.victim)
            return chosen
        }
    }
}
