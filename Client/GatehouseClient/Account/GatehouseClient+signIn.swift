public import GatehouseContracts
import Foundation

// Sign-in methods. Each returns after the session has been stored, and records the outcome in telemetry.
extension GatehouseClient {
    /// Fetches a nonce for Apple's dialog. It can be used once and expires after some minutes.
    public func appleNonce() async throws(GatehouseError) -> AppleNonce {
        let answer = try await api.call(
            "POST", "/v1/auth/apple/nonce", isIdempotent: true, returning: AppleNonceResponse.self)
        return AppleNonce(answer.body.nonce)
    }

    /// Signs in with the result of Apple's dialog (`ASAuthorizationAppleIDCredential`). A new user is registered.
    ///
    /// - Throws: `invalidAppleToken` if the identity token has expired or was refused: open the dialog again.
    @discardableResult
    public func signIn(with credential: AppleCredential) async throws(GatehouseError) -> User {
        let name = credential.fullName.map {
            AppleSignInRequest.FullName(givenName: $0.givenName, familyName: $0.familyName)
        }
        let request = AppleSignInRequest(
            identityToken: credential.identityToken.value, authorizationCode: credential.authorizationCode?.value,
            nonce: credential.nonce?.value, fullName: name, device: await session.device())
        return try await begin(
            "apple", "/v1/auth/apple", request,
            appleUserID: AppleIdentityToken.subject(of: credential.identityToken.value))
    }

    /// Signs in with the outcome of Apple's dialog. A failed dialog is recorded as a failed sign-in, unless the user
    /// closed it.
    @discardableResult
    package func signIn(
        withApple outcome: Result<AppleCredential, GatehouseError>
    ) async throws(GatehouseError) -> User {
        switch outcome {
        case .success(let credential): return try await signIn(with: credential)
        case .failure(let error):
            if error.kind != .cancelled {
                configuration.telemetry.record(TelemetryEvent(.loginFailure, reason: error.reason ?? "\(error.kind)"))
            }
            throw error
        }
    }

    /// Creates an account with a password and signs in.
    ///
    /// - Parameters:
    ///   - identifier: an e-mail address or a phone number in any usual spelling.
    ///   - password: at least 8 characters.
    ///   - displayName: the name that other users see.
    /// - Throws: `identifierTaken`, `weakPassword`, `invalidInput` …
    @discardableResult
    public func register(
        identifier: String, password: String, displayName: String? = nil
    ) async throws(GatehouseError) -> User {
        let request = RegisterRequest(
            identifier: identifier, password: password, displayName: displayName, device: await session.device())
        return try await begin("register", "/v1/auth/register", request)
    }

    /// Signs in with a password.
    ///
    /// - Parameters:
    ///   - identifier: an e-mail address or a phone number in any usual spelling.
    ///   - password: as it was set.
    /// - Throws: `invalidCredentials`, `rateLimited`, `accountDisabled` …
    @discardableResult
    public func signIn(identifier: String, password: String) async throws(GatehouseError) -> User {
        let request = LoginRequest(identifier: identifier, password: password, device: await session.device())
        return try await begin("password", "/v1/auth/login", request)
    }

    /// - Parameter method: the method of signing in, for telemetry.
    func begin(
        _ method: String, _ path: String, _ request: some Encodable & Sendable, appleUserID: String? = nil
    ) async throws(GatehouseError) -> User {
        let clock = configuration.clock
        let begun = clock.monotonic
        do {
            let answer = try await api.call("POST", path, json: request, returning: AuthResponse.self)
            // Before the session begins: the views that then appear show it.
            note(conflictsIn: answer.body)
            try await session.begin(answer, appleUserID: appleUserID)
            configuration.telemetry.record(
                TelemetryEvent(.loginSuccess, reason: method, latency: clock.monotonic - begun))
            return answer.body.user
        } catch {
            // A cancelled task is not a failure.
            if error.kind != .cancelled {
                configuration.telemetry.record(
                    TelemetryEvent(.loginFailure, reason: "\(error.kind)", latency: clock.monotonic - begun))
            }
            throw error
        }
    }
}

/// The result of the last sign-in.
struct Conflict: Sendable {
    var userID: UUID
    var kinds: [IdentifierKind]
}

extension GatehouseClient {
    /// Kinds of the identifiers that the last sign-in verified, and that belong to another account. If that one is the
    /// user's too, offer ``merge(with:)``, for instance with a code for the address:
    ///
    /// ```swift
    /// let user = try await client.signIn(with: credential)
    /// if !client.conflictingIdentifiers(of: user).isEmpty {
    ///     // "You have another account with this address. Merge the two?"
    /// }
    /// ```
    ///
    /// The gate of `GatehouseUI` offers it. The client forgets them at the next sign-in, after a merge, and when the
    /// process ends.
    public func conflictingIdentifiers(of user: User) -> [IdentifierKind] {
        conflict.withLock { $0?.userID == user.id ? $0?.kinds ?? [] : [] }
    }

    func note(conflictsIn auth: AuthResponse) {
        conflict.withLock { conflict in
            conflict = auth.conflictingIdentifiers.map { Conflict(userID: auth.user.id, kinds: $0) }
        }
    }

    func forgetConflicts() {
        conflict.withLock { $0 = nil }
    }
}

extension GatehouseClient {
    /// Sets a new password. All other sessions of the user end.
    ///
    /// - Parameters:
    ///   - current: required if the user has a password.
    ///   - new: at least 8 characters, and not a common password.
    /// - Throws: `invalidCredentials` if the current password is wrong, `weakPassword` …
    public func changePassword(current: String? = nil, new: String) async throws(GatehouseError) {
        _ = try await call(
            "POST", "/v1/auth/password", json: ChangePasswordRequest(currentPassword: current, newPassword: new),
            returning: API.Nothing.self)
    }

    /// Requests a message with the token for ``resetPassword(token:newPassword:)``. The answer does not reveal whether
    /// the user exists.
    public func requestPasswordReset(identifier: String) async throws(GatehouseError) {
        _ = try await api.call(
            "POST", "/v1/auth/password/forgot",
            json: ForgotPasswordRequest(identifier: identifier, device: await session.device()),
            returning: API.Nothing.self)
    }

    /// Sets a new password with the token of a message. All the user's sessions end.
    ///
    /// - Throws: `invalidInput` if the token was used or has expired, `weakPassword` …
    public func resetPassword(token: String, newPassword: String) async throws(GatehouseError) {
        _ = try await api.call(
            "POST", "/v1/auth/password/reset", json: ResetPasswordRequest(token: token, newPassword: newPassword),
            returning: API.Nothing.self)
    }
}

// Six-digit codes, which are sent to an e-mail address or phone number and verify it.
//
// ```swift
// let asked = try await client.requestCode(identifier: "ada@example.com", purpose: .signIn)
// // The person types the digits, or opens the link in the message on this device.
// try await client.signIn(identifier: "ada@example.com", code: "012345", asked: asked)
// ```
extension GatehouseClient {
    /// Requests a code. The answer does not reveal whether the user exists.
    ///
    /// - Parameters:
    ///   - identifier: an e-mail address or a phone number in any usual spelling.
    ///   - purpose: the code's purpose. The code is valid for no other one.
    /// - Returns: when the app may request another code, and the data for the link in the message. Keep it until the
    ///   code is used: it gives this device attempts that other devices cannot use up.
    /// - Throws: `rateLimited` if a code was requested a moment ago, `invalidInput` …
    public func requestCode(
        identifier: String, purpose: CodePurpose = .signIn
    ) async throws(GatehouseError) -> CodeResponse {
        let request = CodeRequest(identifier: identifier, purpose: purpose, device: await session.device())
        return try await api.call("POST", "/v1/auth/code", json: request, returning: CodeResponse.self).body
    }

    /// Signs in with a code of the purpose `signIn`. A new user is registered.
    ///
    /// - Parameters:
    ///   - identifier: the address or number that received the code.
    ///   - code: the six digits as the user typed them.
    ///   - asked: the result of ``requestCode(identifier:purpose:)``, if this device requested the code.
    /// - Throws: `invalidCredentials` if the code is wrong or no longer valid, `rateLimited`, `accountDisabled` …
    @discardableResult
    public func signIn(
        identifier: String, code: String, asked: CodeResponse? = nil
    ) async throws(GatehouseError) -> User {
        let request = VerifyCodeRequest(
            identifier: identifier, code: code, codeRequest: asked?.codeRequest, device: await session.device())
        return try await begin("code", "/v1/auth/code/verify", request)
    }

    /// Signs in with the link in the message, on the device that requested it.
    ///
    /// - Parameters:
    ///   - linkToken: the part of the link after `#`.
    ///   - asked: the result of ``requestCode(identifier:purpose:)``.
    /// - Throws: as ``signIn(identifier:code:asked:)``.
    @discardableResult
    public func signIn(linkToken: String, asked: CodeResponse) async throws(GatehouseError) -> User {
        let request = VerifyCodeRequest(
            codeRequest: asked.codeRequest, linkToken: linkToken, device: await session.device())
        return try await begin("link", "/v1/auth/code/verify", request)
    }

    /// Verifies the signed-in user's address or number with a code of the purpose `verify`.
    ///
    /// - Parameters: as for ``signIn(identifier:code:asked:)``.
    /// - Returns: the updated user.
    /// - Throws: `invalidCredentials` if the code is wrong or no longer valid, or the identifier is not the user's.
    @discardableResult
    public func verify(
        identifier: String, code: String, asked: CodeResponse? = nil
    ) async throws(GatehouseError) -> User {
        let request = VerifyCodeRequest(identifier: identifier, code: code, codeRequest: asked?.codeRequest)
        _ = try await session.call("POST", "/v1/auth/code/verify", json: request, returning: API.Nothing.self)
        return try await me()
    }
}

// Reauthentication. Some calls require recent authentication, so that a stolen phone or access token is not enough to
// take over or delete an account.
extension GatehouseClient {
    /// Authenticates the user again and refreshes the bearer. The new bearer carries the time of this authentication.
    ///
    /// - Throws: `invalidCredentials` or `invalidAppleToken` if the credential is not the user's; `accountDisabled` …
    public func reauthenticate(with proof: ReauthenticationProof) async throws(GatehouseError) {
        switch proof.content.value {
        case .credential(let request):
            _ = try await session.call(
                "POST", "/v1/auth/reauthenticate", json: request, returning: API.Nothing.self)
        case .code(let request):
            _ = try await session.call("POST", "/v1/auth/code/verify", json: request, returning: API.Nothing.self)
        }
        _ = try await session.renewedAccessToken()
    }

    /// Sets how the user authenticates when the server requires it for a call of this library, or for an endpoint of
    /// the team's own service behind the gateway. The client then repeats the call. If the app sets no handler, the
    /// gate of `GatehouseUI` shows a sheet for the password, Sign in with Apple, or a code.
    ///
    /// ```swift
    /// client.setReauthenticationHandler { user in .password(try await askForPassword(of: user)) }
    /// try await client.deleteAccount()
    /// ```
    ///
    /// - Parameter handler: asks the user for a credential. It throws `CancellationError` if the user declines; its
    ///   errors become the call's. `nil`: such calls fail with `reauthenticationRequired`, until the gate appears.
    public func setReauthenticationHandler(
        _ handler: (@Sendable (User) async throws -> ReauthenticationProof)?
    ) {
        guard let handler else { return reauthenticationHandler.withLock { $0 = nil } }
        reauthenticationHandler.withLock {
            $0 = { client, user in
                let proof = try await handler(user)
                try await client.requireUser(user)
                try await client.reauthenticate(with: proof)
            }
        }
    }

    /// Sets the gate's handler, unless the app has set its own. It authenticates the user itself, so that the user can
    /// correct a wrong credential.
    package func setDefaultReauthenticationHandler(
        _ handler: @escaping @Sendable (GatehouseClient, User) async throws -> Void
    ) {
        reauthenticationHandler.withLock { $0 = $0 ?? handler }
    }

    /// Makes a call. If the server requires recent authentication, asks the user and repeats the call once. It is never
    /// repeated for another user, who may have signed in meanwhile.
    func reauthenticating<Value: Sendable>(
        _ call: () async throws(GatehouseError) -> Value
    ) async throws(GatehouseError) -> Value {
        let caller = await session.state.user?.id
        do {
            return try await call()
        } catch {
            guard error.kind == .reauthenticationRequired, let handler = reauthenticationHandler.withLock({ $0 }),
                let user = await session.state.user
            else { throw error }
            guard caller == nil || caller == user.id else { throw GatehouseError(.sessionEnded) }
            do { try await handler(self, user) } catch { throw GatehouseError.of(error) }
            try await requireUser(user)
            return try await call()
        }
    }

    private func requireUser(_ user: User) async throws(GatehouseError) {
        guard await session.state.user?.id == user.id else { throw GatehouseError(.sessionEnded) }
    }
}

extension GatehouseClient {
    /// Ends this device's session. Works without a network and while the session is locked: the server is informed
    /// later.
    ///
    /// - Throws: `storage` if the store could not be cleared or could not record the sign-out.
    public func signOut() async throws(GatehouseError) {
        try await session.end(.user)
    }

    /// Ends all of the user's sessions on all devices.
    ///
    /// The other sessions end first, because this one authenticates the request. If that fails, this device's session
    /// continues.
    public func signOutEverywhere(exceptThisDevice: Bool = false) async throws(GatehouseError) {
        _ = try await session.call(
            "POST", "/v1/auth/logout-all", json: LogoutAllRequest(exceptCurrent: true), isIdempotent: true,
            returning: API.Nothing.self)
        if !exceptThisDevice { try await session.end(.user) }
    }
}
