import Contracts
import Foundation

/// Knows the devices on which a user has signed in before.
protocol DeviceRecognition: Sendable {
    /// - Returns: what names the device among those of the user who has the identifier, in parts; `nil` where that user has
    ///   not signed in on it.
    func knownDevice(
        _ device: SessionDevice?, of identifier: Identifier, deadline: ContinuousClock.Instant
    ) async throws -> [String]?
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
}
