public import Contracts

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
    /// - Returns: when another one may be asked for, and what the link in the message needs. Keep it until the code was
    ///   shown: with it this device has tries that nobody else uses up.
    /// - Throws: `rateLimited` where one was asked for a moment ago, `invalidInput` …
    public func askForCode(
        identifier: String, purpose: CodePurpose = .signIn
    ) async throws(GatehouseError) -> CodeResponse {
        let request = CodeRequest(identifier: identifier, purpose: purpose, device: await session.device())
        return try await api.call("POST", "/v1/auth/code", json: request, returning: CodeResponse.self).body
    }

    /// Signs in with a code that was asked for to sign in. Whoever is new is registered.
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
