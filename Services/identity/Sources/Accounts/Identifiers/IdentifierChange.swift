import Contracts
import Foundation
import ServiceKit

/// Changing one's own address or number (`PUT` and `DELETE /v1/auth/identifiers/{kind}`).
struct IdentifierChange: Sendable {
    let identifiers: IdentifierStore
    let proofs: CodeProofs
    let notices: AccountNotices
    let age: AuthenticationAge
    let worker: OutboxWorker
    let home: PhoneRegion?

    /// - Throws: `REAUTHENTICATION_REQUIRED`; `INVALID_CREDENTIALS` for a wrong code; `IDENTIFIER_TAKEN` where another
    ///   user has proved it.
    func set(
        _ kind: Identifier.Kind, to request: ChangeIdentifierRequest, of user: ForwardedUser,
        context: GatehouseRequestContext
    ) async throws -> User {
        try age.require(user)
        let home = home
        let identifier = try Problem.checking("identifier") { () throws(Refusal) in
            try Identifier(request.identifier, of: kind, home: home)
        }
        let shown = VerifyCodeRequest(
            identifier: request.identifier, code: request.code, codeRequest: request.codeRequest,
            linkToken: request.linkToken)
        return try await proofs.prove(shown, context: context) { _ in
            [.verify]
        } then: { proved, _ in
            guard proved == identifier else { throw CodeProofs.wrong }
            return try await finish(
                identifiers.set(
                    identifier, of: user.id, actor: .user, notices: notices,
                    deadline: context.deadline.forDatabase))
        }
    }

    /// - Throws: `REAUTHENTICATION_REQUIRED`; `FORBIDDEN` where it is the last way to sign in; `NOT_FOUND`.
    func remove(
        _ kind: Identifier.Kind, of user: ForwardedUser, context: GatehouseRequestContext
    ) async throws -> User {
        try age.require(user)
        return try await finish(
            identifiers.remove(
                kind, of: user.id, actor: .user, notices: notices,
                deadline: context.deadline.forDatabase))
    }

    private func finish(_ outcome: IdentifierOutcome) throws(Problem) -> User {
        let account = try outcome.account(noSuchUser: Problem(.invalidToken))
        worker.ring()
        return account.user
    }
}
