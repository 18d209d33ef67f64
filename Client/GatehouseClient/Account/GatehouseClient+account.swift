public import Contracts
public import Foundation

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

// The address and the number of the user who is signed in. Changing one needs a recent proof: see
// ``GatehouseClient/withReauthentication(by:_:)``.
//
// ```swift
// let asked = try await client.askForCode(identifier: "ada@example.org", purpose: .verify)
// // The person types the digits that came to the new address.
// try await client.changeIdentifier(.email, to: "ada@example.org", code: "012345", asked: asked)
// ```
extension GatehouseClient {
    /// Gives the user another address or number, or a first one. The former one is told, and can undo it for three days.
    ///
    /// - Parameters:
    ///   - kind: `email` or `phone`.
    ///   - identifier: of that kind, in any usual spelling.
    ///   - code: six digits that were sent to it, asked for with the purpose `verify`.
    ///   - asked: what ``askForCode(identifier:purpose:)`` returned, where this device asked.
    /// - Returns: the user as from now on.
    /// - Throws: `reauthenticationRequired`, `invalidCredentials` where the code is not right or no longer valid,
    ///   `identifierTaken` where another account has proved it …
    @discardableResult
    public func changeIdentifier(
        _ kind: IdentifierKind, to identifier: String, code: String, asked: CodeResponse? = nil
    ) async throws(GatehouseError) -> User {
        let request = ChangeIdentifierRequest(identifier: identifier, code: code, codeRequest: asked?.codeRequest)
        return try await updated(
            session.call("PUT", "/v1/auth/identifiers/\(kind)", json: request, returning: User.self))
    }

    /// Takes the user's address or number away. The last way to sign in stays: the server refuses.
    ///
    /// - Throws: `reauthenticationRequired`, `forbidden` …
    @discardableResult
    public func removeIdentifier(_ kind: IdentifierKind) async throws(GatehouseError) -> User {
        try await updated(session.call("DELETE", "/v1/auth/identifiers/\(kind)", returning: User.self))
    }

    /// Undoes a change, by the link that was sent to the former address or number. All sessions of that user end, and
    /// the password is removed: the user signs in with a code and sets a new one. The app needs no session for it.
    ///
    /// - Parameter token: what stands behind the `#` of the link.
    /// - Throws: `invalidInput` where the token has served or expired, `identifierTaken` …
    public func undoIdentifierChange(token: String) async throws(GatehouseError) {
        _ = try await api.call(
            "POST", "/v1/auth/identifiers/undo", json: UndoIdentifierChangeRequest(token: token),
            returning: API.Nothing.self)
    }
}

extension GatehouseClient {
    /// Makes one account of the one that is signed in and another one of the same person. The older one stays, with its
    /// id, and gets what it lacks of the other. All other sessions of both end.
    ///
    /// ```swift
    /// if user.mergeableIdentifiers != nil {
    ///     // "There is an older account with this address. What is its password?"
    ///     try await client.merge(with: .password(password))
    /// }
    /// ```
    ///
    /// - Returns: the user as from now on. It may have another id; the session is that user's then.
    /// - Throws: `reauthenticationRequired` (``withReauthentication(by:_:)``), `invalidCredentials` or
    ///   `invalidAppleToken` where the proof is of no other account, `forbidden` where the two are not to be merged …
    @discardableResult
    public func merge(with proof: MergeProof) async throws(GatehouseError) -> User {
        var request = proof.request.value
        request.device = configuration.device
        let appleUserID = request.identityToken.flatMap { AppleIdentityToken.subject(of: $0) }
        let answer = try await session.answer(
            "POST", "/v1/auth/merge", json: request, returning: MergeResponse.self)
        guard let auth = answer.body.session else { return try await updated(answer.body.user) }
        try await session.begin(
            API.Answer(body: auth, sentAt: answer.sentAt, serverDate: answer.serverDate), appleUserID: appleUserID)
        return auth.user
    }
}

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

/// A signed-in device as its user sees it. (The contract calls it a session; here that is ``Session``, the actor.)
public typealias SessionInfo = Contracts.Session
