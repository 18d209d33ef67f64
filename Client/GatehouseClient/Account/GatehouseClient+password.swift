import Contracts

extension GatehouseClient {
    /// Sets a new password. All other sessions of the user end.
    ///
    /// - Parameters:
    ///   - current: needed where the user has a password.
    ///   - new: at least 8 characters, and none that everybody thinks of.
    /// - Throws: `invalidCredentials` where the current one is wrong, `weakPassword` …
    public func changePassword(current: String? = nil, new: String) async throws(GatehouseError) {
        _ = try await session.call(
            "POST", "/v1/auth/password", json: ChangePasswordRequest(currentPassword: current, newPassword: new),
            returning: API.Nothing.self)
    }

    /// Has the user sent what ``resetPassword(token:newPassword:)`` needs. Whether there is such a user is not told.
    public func forgotPassword(identifier: String) async throws(GatehouseError) {
        _ = try await api.call(
            "POST", "/v1/auth/password/forgot",
            json: ForgotPasswordRequest(identifier: identifier, device: await session.device()),
            returning: API.Nothing.self)
    }

    /// Sets a new password by the token of a message. All sessions of the user end.
    ///
    /// - Throws: `invalidInput` where the token has served or expired, `weakPassword` …
    public func resetPassword(token: String, newPassword: String) async throws(GatehouseError) {
        _ = try await api.call(
            "POST", "/v1/auth/password/reset", json: ResetPasswordRequest(token: token, newPassword: newPassword),
            returning: API.Nothing.self)
    }
}
