public import Contracts

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
