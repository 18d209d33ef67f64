import GatehouseServiceContracts
import GatehouseServiceKit
import IdentityCore
import IdentityCredentials

/// Changes the user's own address or number (`PUT` and `DELETE /v1/auth/identifiers/{kind}`).
struct IdentifierChange: Sendable {
    let changes: IdentifierChangeStore
    let verifier: CodeVerifier
    let notices: AccountNotices
    let age: AuthenticationAge
    let worker: OutboxWorker
    let home: PhoneRegion?

    /// - Throws: `REAUTHENTICATION_REQUIRED`; `INVALID_CREDENTIALS` for a wrong code; `IDENTIFIER_TAKEN` where another
    ///   user has verified the identifier.
    func set(
        _ kind: Identifier.Kind, to request: ChangeIdentifierRequest, of user: ForwardedUser,
        context: GatehouseRequestContext
    ) async throws -> User {
        try age.require(user)
        let home = home
        let identifier = try Problem.checking("identifier") { () throws(Refusal) in
            try Identifier(request.identifier, of: kind, home: home)
        }
        let presented = VerifyCodeRequest(
            identifier: request.identifier, code: request.code, codeRequest: request.codeRequest,
            linkToken: request.linkToken)
        return try await verifier.verify(presented, context: context) { _ in
            [.verify]
        } then: { verified, _ in
            guard verified == identifier else { throw CodeVerifier.wrong }
            return try await finish(changes.set(identifier, of: user.id, actor: .user, notices: notices))
        }
    }

    /// - Throws: `REAUTHENTICATION_REQUIRED`; `FORBIDDEN` where it is the account's last credential; `NOT_FOUND`.
    func remove(_ kind: Identifier.Kind, of user: ForwardedUser) async throws -> User {
        try age.require(user)
        return try await finish(changes.remove(kind, of: user.id, actor: .user, notices: notices))
    }

    private func finish(_ outcome: IdentifierOutcome) throws(Problem) -> User {
        let account = try outcome.account(noSuchUser: Problem(.invalidToken))
        worker.wake()
        return account.user
    }
}

/// Undoes a change of an identifier (`POST /v1/auth/identifiers/undo`), with the token that was sent to the former one.
struct IdentifierUndoing: Sendable {
    let changes: IdentifierChangeStore
    let delivery: OutboxDelivery
    let limits: AttemptLimits
    let worker: OutboxWorker

    /// - Throws: `INVALID_REQUEST` for every invalid token, whatever the reason; `IDENTIFIER_TAKEN` where another user
    ///   has verified the identifier since; `ACCOUNT_DISABLED` where a token was used before whose holder may also be
    ///   the owner.
    func callAsFunction(_ request: UndoIdentifierChangeRequest, context: GatehouseRequestContext) async throws {
        try await limits.admit(.undo, from: context.clientAddress)
        switch try await changes.undo(SingleUseToken.digest(of: request.token)) {
        case .undone(let entry):
            worker.wake()
            // If tokens is unavailable now, the outbox ends the sessions later.
            try? await delivery.deliver(entry)
        case .locked:
            worker.wake()
            throw Problem(.accountDisabled, "Two people claim this account. It is locked. Please ask for help.")
        case .unknown:
            throw Problem.invalid("token", "The link is no longer valid.")
        case .taken:
            throw Problem(.identifierTaken, "Another account has verified this since.")
        }
    }
}
