import Contracts

extension GatehouseClient {
    /// Ends this device's session. Without a network too: the server is told later.
    ///
    /// - Throws: `storage` where the store could not be emptied.
    public func signOut() async throws(GatehouseError) {
        try await session.end(.user)
    }

    /// Ends all of the user's sessions on all devices.
    ///
    /// The others end first, while this one still proves who asks: if that fails, nothing has ended here.
    public func signOutEverywhere(exceptThisDevice: Bool = false) async throws(GatehouseError) {
        _ = try await session.call(
            "POST", "/v1/auth/logout-all", json: LogoutAllRequest(exceptCurrent: true), isRepeatable: true,
            returning: API.Nothing.self)
        if !exceptThisDevice { try await session.end(.user) }
    }
}
