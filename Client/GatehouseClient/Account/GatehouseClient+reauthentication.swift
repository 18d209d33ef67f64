import Contracts

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
