public import Contracts

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
    /// the password no longer counts: sign in by a code, and set a new one. Nobody needs to be signed in.
    ///
    /// - Parameter token: what stands behind the `#` of the link.
    /// - Throws: `invalidInput` where the token has served or expired, `identifierTaken` …
    public func undoIdentifierChange(token: String) async throws(GatehouseError) {
        _ = try await api.call(
            "POST", "/v1/auth/identifiers/undo", json: UndoIdentifierChangeRequest(token: token),
            returning: API.Nothing.self)
    }
}
