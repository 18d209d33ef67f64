import Contracts
import HTTPTypes
import Hummingbird
import ServiceKit

/// A user's own addresses and numbers. Undoing a change asks for no bearer: its message went to whoever reads the former
/// one.
struct IdentifierRoutes: Sendable {
    let change: IdentifierChange
    let undoing: IdentifierUndoing

    func add(to router: ServiceRouter) {
        // One route for each kind: a route with a parameter would be hidden by the one that is spelled out.
        for kind in Identifier.Kind.allCases {
            router.put("/v1/auth/identifiers/\(kind.rawValue)") { request, context in
                let user = try context.requireUser()
                return try await Response.json(
                    change.set(
                        kind, to: request.decode(ChangeIdentifierRequest.self), of: user, context: context))
            }
            router.delete("/v1/auth/identifiers/\(kind.rawValue)") { _, context in
                let user = try context.requireUser()
                return try await Response.json(change.remove(kind, of: user, context: context))
            }
        }
        router.post("/v1/auth/identifiers/undo") { request, context in
            try await undoing(request.decode(UndoIdentifierChangeRequest.self), context: context)
            return Response.empty()
        }
    }
}
