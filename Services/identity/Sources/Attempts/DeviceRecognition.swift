import Contracts
import Foundation

/// Knows the devices and networks on which a user has signed in before.
protocol DeviceRecognition: Sendable {
    /// - Returns: what names the device among those of the user who has the identifier, in parts, the user's first;
    ///   `nil` where that user has not signed in on it.
    func knownDevice(
        _ device: SessionDevice?, of identifier: Identifier, deadline: ContinuousClock.Instant
    ) async throws -> [String]?

    /// - Parameter network: ``ClientNetwork/site(of:)``.
    /// - Returns: whether the user who has the identifier has signed in from there.
    func isKnown(network: String, of identifier: Identifier, deadline: ContinuousClock.Instant) async throws -> Bool
}

/// By the token that the device shows, or for apps that have none, by the `installationId` that they have chosen.
struct KnownDevices: DeviceRecognition {
    let tokens: DeviceTokens
    let store: KnownDeviceStore

    func knownDevice(
        _ device: SessionDevice?, of identifier: Identifier, deadline: ContinuousClock.Instant
    ) async throws -> [String]? {
        if let token = tokens.read(device?.deviceToken),
            try await store.accepts(token, of: identifier, deadline: deadline)
        {
            return [token.userID.uuidString, token.deviceID.uuidString]
        }
        return try await store.device(device?.installationId, of: identifier, deadline: deadline).map {
            [$0.userID.uuidString, "\($0.id)"]
        }
    }

    func isKnown(network: String, of identifier: Identifier, deadline: ContinuousClock.Instant) async throws -> Bool {
        try await store.isKnown(network: network, of: identifier, deadline: deadline)
    }
}
