public import GatehouseContracts
public import Foundation

// The signed-in user's account. Each call updates the session with the user that the server returns.
extension GatehouseClient {
    /// Fetches the user from the server.
    @discardableResult
    public func me() async throws(GatehouseError) -> User {
        try await updated(call("GET", "/v1/auth/me", returning: User.self))
    }

    /// - Parameter displayName: an empty name removes it.
    @discardableResult
    public func updateProfile(displayName: String) async throws(GatehouseError) -> User {
        try await updated(
            call(
                "PATCH", "/v1/auth/me", json: UpdateUserRequest(displayName: displayName), returning: User.self))
    }

    /// Deletes the account and all its data, and ends the session (``SignOutReason/accountDeleted``). The server
    /// requires recent authentication: the client asks for it as ``setReauthenticationHandler(_:)`` says.
    ///
    /// If the answer is lost, the call may throw although the account is deleted. A repeated call then succeeds.
    ///
    /// - Throws: `cancelled` if the user declines, `reauthenticationRequired` if no handler is set …
    public func deleteAccount() async throws(GatehouseError) {
        try await reauthenticating { () throws(GatehouseError) in try await session.deleteAccount() }
    }

    /// Returns all data that the server stores about the user.
    public func exportData() async throws(GatehouseError) -> AccountExport {
        try await call("GET", "/v1/auth/export", returning: AccountExport.self)
    }

    /// Links an Apple account as another credential.
    @discardableResult
    public func link(_ credential: AppleCredential) async throws(GatehouseError) -> User {
        let request = LinkAppleRequest(
            identityToken: credential.identityToken.value, nonce: credential.nonce?.value)
        return try await updated(
            call("POST", "/v1/auth/identities/apple", json: request, returning: User.self))
    }

    /// Removes a credential. The server refuses to remove the last one.
    @discardableResult
    public func unlink(_ provider: AuthProvider) async throws(GatehouseError) -> User {
        try await updated(call("DELETE", "/v1/auth/identities/\(provider)", returning: User.self))
    }

    /// Calls one of Gatehouse's own routes in the user's name, with recent authentication if the server requires it.
    func call<Body: Decodable & Sendable>(
        _ method: String, _ path: String, json: (any Encodable & Sendable)? = nil, isIdempotent: Bool? = nil,
        returning: Body.Type = Body.self
    ) async throws(GatehouseError) -> Body {
        try await reauthenticating { () throws(GatehouseError) in
            try await session.call(method, path, json: json, isIdempotent: isIdempotent, returning: Body.self)
        }
    }

    func updated(_ user: User) async throws(GatehouseError) -> User {
        try await session.update(user)
        return user
    }
}

// The signed-in user's e-mail address and phone number. Changing one requires recent authentication: see
// ``GatehouseClient/setReauthenticationHandler(_:)``.
//
// ```swift
// let asked = try await client.requestCode(identifier: "ada@example.org", purpose: .verify)
// // The person types the digits that came to the new address.
// try await client.changeIdentifier(.email, to: "ada@example.org", code: "012345", asked: asked)
// ```
extension GatehouseClient {
    /// Sets or replaces the user's e-mail address or phone number. The previous one receives a message with a link that
    /// can undo the change within three days.
    ///
    /// - Parameters:
    ///   - kind: `email` or `phone`.
    ///   - identifier: an address or number of that kind, in any usual spelling.
    ///   - code: the six digits sent to it, requested with the purpose `verify`.
    ///   - asked: the result of ``requestCode(identifier:purpose:)``, if this device requested the code.
    /// - Returns: the updated user.
    /// - Throws: `reauthenticationRequired`, `invalidCredentials` if the code is wrong or no longer valid,
    ///   `identifierTaken` if another account has verified the identifier …
    @discardableResult
    public func changeIdentifier(
        _ kind: IdentifierKind, to identifier: String, code: String, asked: CodeResponse? = nil
    ) async throws(GatehouseError) -> User {
        let request = ChangeIdentifierRequest(identifier: identifier, code: code, codeRequest: asked?.codeRequest)
        return try await updated(
            call("PUT", "/v1/auth/identifiers/\(kind)", json: request, returning: User.self))
    }

    /// Removes the user's e-mail address or phone number. The server refuses to remove the last credential.
    ///
    /// - Throws: `reauthenticationRequired`, `forbidden` …
    @discardableResult
    public func removeIdentifier(_ kind: IdentifierKind) async throws(GatehouseError) -> User {
        try await updated(call("DELETE", "/v1/auth/identifiers/\(kind)", returning: User.self))
    }

    /// Undoes a change with the link that was sent to the previous address or number. All the user's sessions end, and
    /// the password is removed: the user signs in with a code and sets a new password. No session is needed for this
    /// call.
    ///
    /// - Parameter token: the part of the link after `#`.
    /// - Throws: `invalidInput` if the token was used or has expired, `identifierTaken` …
    public func undoIdentifierChange(token: String) async throws(GatehouseError) {
        _ = try await api.call(
            "POST", "/v1/auth/identifiers/undo", json: UndoIdentifierChangeRequest(token: token),
            returning: API.Nothing.self)
    }
}

extension GatehouseClient {
    /// Merges the signed-in account with another account of the same person. The older account keeps its id and
    /// receives what it lacks from the other. All other sessions of both accounts end.
    ///
    /// ```swift
    /// if user.mergeableIdentifiers != nil {
    ///     // "There is an older account with this address. What is its password?"
    ///     try await client.merge(with: .password(password))
    /// }
    /// ```
    ///
    /// - Returns: the updated user. Its id may differ; the session then belongs to that user.
    /// - Throws: `reauthenticationRequired`, `invalidCredentials` or
    ///   `invalidAppleToken` if the credential belongs to no other account, `forbidden` if the two may not be merged …
    @discardableResult
    public func merge(with proof: MergeProof) async throws(GatehouseError) -> User {
        var request = proof.request.value
        request.device = configuration.device
        let appleUserID = request.identityToken.flatMap { AppleIdentityToken.subject(of: $0) }
        let answer = try await reauthenticating { () throws(GatehouseError) in
            try await session.answer("POST", "/v1/auth/merge", json: request, returning: MergeResponse.self)
        }
        forgetConflicts()
        guard let auth = answer.body.session else { return try await updated(answer.body.user) }
        try await session.begin(
            API.Answer(body: auth, sentAt: answer.sentAt, serverDate: answer.serverDate), appleUserID: appleUserID)
        return auth.user
    }
}

// The user's sessions, and the devices that receive push notifications.
extension GatehouseClient {
    /// The user's sessions on all devices.
    public func sessions() async throws(GatehouseError) -> [SessionInfo] {
        try await call("GET", "/v1/auth/sessions", returning: SessionList.self).sessions
    }

    /// Ends a session. This device's session ends as with ``signOut()``.
    public func endSession(_ info: SessionInfo) async throws(GatehouseError) {
        if info.current { return try await signOut() }
        _ = try await call("DELETE", "/v1/auth/sessions/\(info.id.path)", returning: API.Nothing.self)
    }

    /// Registers this device for push notifications, or updates its registration.
    public func registerDevice(_ registration: Registration) async throws(GatehouseError) -> Device {
        try await call(
            "POST", "/v1/devices/register", json: registration, isIdempotent: true, returning: Device.self)
    }

    /// The user's devices that are registered for push notifications.
    public func devices() async throws(GatehouseError) -> [Device] {
        try await call("GET", "/v1/devices", returning: DeviceList.self).devices
    }

    /// Unregisters a device.
    public func unregister(_ device: UUID) async throws(GatehouseError) {
        _ = try await call("DELETE", "/v1/devices/\(device.path)", returning: API.Nothing.self)
    }
}

extension UUID {
    /// In the server's spelling.
    fileprivate var path: String { uuidString.lowercased() }
}

/// An entry in the user's list of sessions. The contract calls it `Session`.
public typealias SessionInfo = GatehouseContracts.Session
