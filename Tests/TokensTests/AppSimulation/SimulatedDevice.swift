import Foundation
import GatehouseClient
import TestKit

/// A device with one app, and the server that the app calls.
struct SimulatedDevice: Sendable {
    /// What the app calls.
    static let origin = URL(string: "https://api.example.com")!

    let clock = SimulatedClock()
    let storage: DeviceStorage
    let server: SimulatedServer
    let network: SimulatedNetwork

    /// - Parameter newChain: the server's rules of rotation.
    init(random: inout SeededGenerator, newChain: @escaping @Sendable () -> any SessionChain) {
        storage = DeviceStorage(random: random.split())
        server = SimulatedServer(clock: clock, random: random.split(), newChain: newChain)
        network = SimulatedNetwork(server: server, clock: clock, random: random.split())
    }
}

extension SeededGenerator {
    /// Another one, which what this one draws later does not change.
    fileprivate mutating func split() -> SeededGenerator { SeededGenerator(seed: next()) }
}

/// What the user sees.
enum Sight: Sendable {
    case signedIn
    /// The login page.
    case signedOut
    /// A launch screen, or a lock.
    case neither
}

enum RequestOutcome: Sendable {
    case served
    /// 401, and no further try.
    case refused
    case failed
}
