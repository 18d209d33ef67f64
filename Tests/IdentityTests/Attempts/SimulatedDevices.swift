import GatehouseServiceContracts
import Synchronization

@testable import IdentityCore

/// Every user has signed in on one device, and from the networks that a test names.
final class SimulatedDevices: DeviceRecognition {
    static let known = SessionDevice(deviceToken: "known")
    let networks: Mutex<Set<String>>

    init(networks: Set<String> = []) {
        self.networks = Mutex(networks)
    }

    func knownDevice(_ device: SessionDevice?, of identifier: Identifier) async throws -> KnownOrigin? {
        device == Self.known ? KnownOrigin(parts: [identifier.value, "device"], isVerified: true) : nil
    }

    func knownNetwork(_ network: String, of identifier: Identifier) async throws -> KnownOrigin? {
        let isKnown = networks.withLock { $0.contains(network) }
        return isKnown ? KnownOrigin(parts: [identifier.value, network], isVerified: true) : nil
    }
}

extension AttemptLimits {
    /// - Returns: whether the password was compared.
    func admits(
        _ identifier: Identifier, from address: String, on device: SessionDevice? = nil, isRight: Bool
    ) async throws -> Bool {
        do {
            try await guess(passwordOf: identifier, from: address, on: device) {
                if !isRight { throw Problem(.invalidCredentials) }
            }
            return true
        } catch let problem as Problem {
            return problem.code != .rateLimited
        }
    }
}
