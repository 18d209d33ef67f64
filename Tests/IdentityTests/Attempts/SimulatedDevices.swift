import Contracts
import ServiceKit

@testable import IdentityService

/// Every user has signed in on one device, and on no other.
struct SimulatedDevices: DeviceRecognition {
    static let known = SessionDevice(deviceToken: "known")

    func knownDevice(
        _ device: SessionDevice?, of identifier: Identifier, deadline: ContinuousClock.Instant
    ) async throws -> [String]? {
        device == Self.known ? [identifier.value, "device"] : nil
    }
}

extension AttemptLimits {
    /// - Returns: whether the password was compared.
    func admits(
        _ identifier: Identifier, from address: String, on device: SessionDevice? = nil, isRight: Bool
    ) async throws -> Bool {
        do {
            try await guess(passwordOf: identifier, from: address, on: device, deadline: .after(.seconds(60))) {
                if !isRight { throw Problem(.invalidCredentials) }
            }
            return true
        } catch let problem as Problem {
            return problem.code != .rateLimited
        }
    }
}
