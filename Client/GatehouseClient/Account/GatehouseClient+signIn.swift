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
