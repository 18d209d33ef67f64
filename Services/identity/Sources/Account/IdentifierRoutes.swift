import GatehouseServiceContracts
import GatehouseServiceKit
import HTTPTypes
import Hummingbird
import IdentityCore

/// A user's own addresses and numbers. Undoing a change requires no access token: its message went to the owner of the
/// former identifier.
struct IdentifierRoutes: Sendable {
    let change: IdentifierChange
    let undoing: IdentifierUndoing

    func add(to router: ServiceRouter) {
        // One route for each kind. A route with a path parameter would be shadowed by the literal route.
        for kind in Identifier.Kind.allCases {
            router.put("/v1/auth/identifiers/\(kind.rawValue)") { request, context in
                let user = try context.requireUser()
                return try await Response.json(
                    change.set(
                        kind, to: request.decode(ChangeIdentifierRequest.self), of: user, context: context))
            }
            router.delete("/v1/auth/identifiers/\(kind.rawValue)") { _, context in
                let user = try context.requireUser()
                return try await Response.json(change.remove(kind, of: user))
            }
        }
        router.post("/v1/auth/identifiers/undo") { request, context in
            try await undoing(request.decode(UndoIdentifierChangeRequest.self), context: context)
            return Response.empty()
        }
    }
}

extension IdentifierOutcome {
    /// The account after a successful change of its identifiers.
    /// - Parameters:
    ///   - taken: the error where another user has verified the identifier.
    ///   - noSuchUser: the error where the user is gone.
    /// - Throws: why the change failed: `IDENTIFIER_TAKEN`, `FORBIDDEN`, `NOT_FOUND`.
    func account(taken: Problem = Problem(.identifierTaken), noSuchUser: Problem) throws(Problem) -> Account {
        switch self {
        case .changed(let account): return account
        case .taken: throw taken
        case .occupied: throw Problem(.identifierTaken, "The user has another one of this kind. Remove that first.")
        case .lastOne: throw .lastCredential
        case .missing: throw Problem(.notFound)
        case .noSuchUser: throw noSuchUser
        }
    }
}

extension Problem {
    /// Removing it would leave the account without a credential.
    static var lastCredential: Problem {
        Problem(.forbidden, "This is the only way to sign in to the account and cannot be removed.")
    }
}
