public import Contracts

// The account of the user who is signed in. What the server says of the user, the session says from then on.
extension GatehouseClient {
    /// Asks the server who the user is by now.
    @discardableResult
    public func me() async throws(GatehouseError) -> User {
        try await updated(session.call("GET", "/v1/auth/me", returning: User.self))
    }

    /// - Parameter displayName: empty takes the name away.
    @discardableResult
    public func updateProfile(displayName: String) async throws(GatehouseError) -> User {
        try await updated(
            session.call(
                "PATCH", "/v1/auth/me", json: UpdateUserRequest(displayName: displayName), returning: User.self))
    }

    /// Deletes the account with all that is kept of it, and ends the session.
    public func deleteAccount() async throws(GatehouseError) {
        _ = try await session.call("DELETE", "/v1/auth/account", returning: API.Nothing.self)
        try await session.end(.accountDeleted)
    }

    /// All that the server keeps of the user.
    public func exportData() async throws(GatehouseError) -> AccountExport {
        try await session.call("GET", "/v1/auth/export", returning: AccountExport.self)
    }

    /// Makes an Apple account a second way to sign in.
    ///
    /// - Parameters: as for ``signInWithApple(identityToken:authorizationCode:nonce:fullName:)``.
    @discardableResult
    public func linkApple(identityToken: String, nonce: AppleNonce? = nil) async throws(GatehouseError) -> User {
        let request = LinkAppleRequest(identityToken: identityToken, nonce: nonce?.value)
        return try await updated(
            session.call("POST", "/v1/auth/identities/apple", json: request, returning: User.self))
    }

    /// Takes a way to sign in away. The last one stays: the server refuses.
    @discardableResult
    public func unlink(_ provider: AuthProvider) async throws(GatehouseError) -> User {
        try await updated(session.call("DELETE", "/v1/auth/identities/\(provider)", returning: User.self))
    }

    func updated(_ user: User) async throws(GatehouseError) -> User {
        try await session.update(user)
        return user
    }
}
