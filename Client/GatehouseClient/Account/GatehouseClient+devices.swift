public import Contracts
public import Foundation

// The user's sessions, and the devices that are sent push notifications.
extension GatehouseClient {
    /// The user's sessions on all devices.
    public func sessions() async throws(GatehouseError) -> [SessionInfo] {
        try await session.call("GET", "/v1/auth/sessions", returning: SessionList.self).sessions
    }

    /// Ends a session: another device's at the server, this one's as ``signOut()`` does.
    public func endSession(_ info: SessionInfo) async throws(GatehouseError) {
        if info.current { return try await signOut() }
        _ = try await session.call("DELETE", "/v1/auth/sessions/\(info.id.path)", returning: API.Nothing.self)
    }

    /// Registers this device for push notifications, or tells what has changed of it.
    public func registerDevice(_ registration: Registration) async throws(GatehouseError) -> Device {
        try await session.call(
            "POST", "/v1/devices/register", json: registration, isRepeatable: true, returning: Device.self)
    }

    /// The user's devices that are registered for push notifications.
    public func devices() async throws(GatehouseError) -> [Device] {
        try await session.call("GET", "/v1/devices", returning: DeviceList.self).devices
    }

    /// Registers a device no longer.
    public func unregister(_ device: UUID) async throws(GatehouseError) {
        _ = try await session.call("DELETE", "/v1/devices/\(device.path)", returning: API.Nothing.self)
    }
}

extension UUID {
    /// As the server writes identifiers.
    fileprivate var path: String { uuidString.lowercased() }
}
