public import Contracts
public import Foundation

// Signing in. Each returns when the session is stored, and tells telemetry how it went.
extension GatehouseClient {
    /// A nonce for Apple's dialog, which serves once and expires after some minutes.
    public func appleNonce() async throws(GatehouseError) -> AppleNonce {
        let answer = try await api.call(
            "POST", "/v1/auth/apple/nonce", isRepeatable: true, returning: AppleNonceResponse.self)
        return AppleNonce(answer.body.nonce)
    }

    /// Signs in with what Apple's dialog gave (`ASAuthorizationAppleIDCredential`). A user who is new is registered.
    ///
    /// - Parameters:
    ///   - identityToken: its text. It expires after some minutes.
    ///   - authorizationCode: its text; with it, deleting the account also revokes the app's access at Apple.
    ///   - nonce: the one that Apple's dialog was given.
    ///   - fullName: Apple tells it with the first sign-in only.
    /// - Throws: `invalidAppleToken` where the token has expired or was refused: begin the dialog anew.
    @discardableResult
    public func signInWithApple(
        identityToken: String, authorizationCode: String? = nil, nonce: AppleNonce? = nil,
        fullName: PersonNameComponents? = nil
    ) async throws(GatehouseError) -> User {
        let name = fullName.map {
            AppleSignInRequest.FullName(givenName: $0.givenName, familyName: $0.familyName)
        }
        let request = AppleSignInRequest(
            identityToken: identityToken, authorizationCode: authorizationCode, nonce: nonce?.value, fullName: name,
            device: await session.device())
        return try await begin(
            "apple", "/v1/auth/apple", request, appleUserID: AppleIdentityToken.subject(of: identityToken))
    }

    /// Makes an account with a password and signs in.
    ///
    /// - Parameters:
    ///   - identifier: an e-mail address or a phone number in any usual spelling.
    ///   - password: at least 8 characters.
    ///   - displayName: what others see.
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

    /// - Parameter way: what telemetry is told.
    func begin(
        _ way: String, _ path: String, _ request: some Encodable & Sendable, appleUserID: String? = nil
    ) async throws(GatehouseError) -> User {
        let clock = configuration.clock
        let begun = clock.monotonic
        do {
            let answer = try await api.call("POST", path, json: request, returning: AuthResponse.self)
            try await session.begin(answer, appleUserID: appleUserID)
            configuration.telemetry.record(
                TelemetryEvent(.loginSuccess, reason: way, latency: clock.monotonic - begun))
            return answer.body.user
        } catch {
            // A task that was cancelled is no failure.
            if error.kind != .cancelled {
                configuration.telemetry.record(
                    TelemetryEvent(.loginFailure, reason: "\(error.kind)", latency: clock.monotonic - begun))
            }
            throw error
        }
    }
}

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

// Codes of six digits, which are sent to an address or a number and prove it.
//
// ```swift
// let asked = try await client.askForCode(identifier: "ada@example.com", purpose: .signIn)
// // The person types the digits, or opens the link in the message on this device.
// try await client.signIn(identifier: "ada@example.com", code: "012345", asked: asked)
// ```
extension GatehouseClient {
    /// Has a code sent. Whether there is such a user is not told.
    ///
    /// - Parameters:
    ///   - identifier: an e-mail address or a phone number in any usual spelling.
    ///   - purpose: what the code is for. It serves for nothing else.
    /// - Returns: when the app may ask for another code, and what the link in the message needs. Keep it until the code
    ///   is used: it gives this device attempts that other devices cannot use up.
    /// - Throws: `rateLimited` where one was asked for a moment ago, `invalidInput` …
    public func askForCode(
        identifier: String, purpose: CodePurpose = .signIn
    ) async throws(GatehouseError) -> CodeResponse {
        let request = CodeRequest(identifier: identifier, purpose: purpose, device: await session.device())
        return try await api.call("POST", "/v1/auth/code", json: request, returning: CodeResponse.self).body
    }

    /// Signs in with a code of the purpose `signIn`. A new user is registered.
    ///
    /// - Parameters:
    ///   - identifier: where the code was sent.
    ///   - code: the six digits as they were typed.
    ///   - asked: what ``askForCode(identifier:purpose:)`` returned, where this device asked.
    /// - Throws: `invalidCredentials` where the code is not right or no longer valid, `rateLimited`, `accountDisabled` …
    @discardableResult
    public func signIn(
        identifier: String, code: String, asked: CodeResponse? = nil
    ) async throws(GatehouseError) -> User {
        let request = VerifyCodeRequest(
            identifier: identifier, code: code, codeRequest: asked?.codeRequest, device: await session.device())
        return try await begin("code", "/v1/auth/code/verify", request)
    }

    /// Signs in with the link in the message, on the device that asked.
    ///
    /// - Parameters:
    ///   - linkToken: what stands behind the `#` of the link.
    ///   - asked: what ``askForCode(identifier:purpose:)`` returned.
    /// - Throws: as ``signIn(identifier:code:asked:)``.
    @discardableResult
    public func signIn(linkToken: String, asked: CodeResponse) async throws(GatehouseError) -> User {
        let request = VerifyCodeRequest(
            codeRequest: asked.codeRequest, linkToken: linkToken, device: await session.device())
        return try await begin("link", "/v1/auth/code/verify", request)
    }

    /// Proves the signed-in user's own address or number with a code that was asked for to verify it.
    ///
    /// - Parameters: as for ``signIn(identifier:code:asked:)``.
    /// - Returns: the user as from now on.
    /// - Throws: `invalidCredentials` where the code is not right or no longer valid, or the identifier not the user's.
    @discardableResult
    public func verify(
        identifier: String, code: String, asked: CodeResponse? = nil
    ) async throws(GatehouseError) -> User {
        let request = VerifyCodeRequest(identifier: identifier, code: code, codeRequest: asked?.codeRequest)
        _ = try await session.call("POST", "/v1/auth/code/verify", json: request, returning: API.Nothing.self)
        return try await me()
    }
}

// Proving once more who the user is. Some calls ask for a proof that is not old: a stolen phone or access token must not
// be enough to take an account over, or to end it.
extension GatehouseClient {
    /// Proves that it is the user who asks, and renews the bearer, which tells the server so from then on.
    ///
    /// - Throws: `invalidCredentials` or `invalidAppleToken` where the proof is not the user's; `accountDisabled` …
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

    /// Makes a call; if the server asks for a recent proof, the user is asked for one, and the call is made again.
    ///
    /// ```swift
    /// try await client.withReauthentication(by: { .password(try await askForPassword()) }) { client in
    ///     try await client.deleteAccount()
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - proof: asks the user. What it throws is thrown; a `CancellationError` as `cancelled`.
    ///   - call: of this library's, or of a service of one's own behind the gateway.
    /// - Throws: what `call` throws, and ``reauthenticate(with:)``.
    public func withReauthentication<Value: Sendable>(
        by proof: @Sendable () async throws -> ReauthenticationProof,
        _ call: @Sendable (GatehouseClient) async throws -> Value
    ) async throws(GatehouseError) -> Value {
        do {
            do {
                return try await call(self)
            } catch let error as GatehouseError where error.kind == .reauthenticationRequired {
                try await reauthenticate(with: try await proof())
                return try await call(self)
            }
        } catch {
            throw GatehouseError.of(error)
        }
    }
}

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
