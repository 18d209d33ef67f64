import Contracts
import Foundation
import Hummingbird
import ServiceKit

/// Users' e-mail addresses and phone numbers, for operators: whose word counts as proof.
struct AdminIdentifierRoutes: Sendable {
    let users: AdminUserStore
    let identifiers: IdentifierStore
    let administration: UserAdministration
    let age: AuthenticationAge
    let worker: OutboxWorker
    let home: PhoneRegion?

    func add(to admin: AdminRouter) {
        admin.put("/users/{id}/identifiers/{kind}", use: set)
        admin.delete("/users/{id}/identifiers/{kind}", use: remove)
        admin.post("/users/{id}/identifiers/{kind}/move", use: move)
    }

    @Sendable private func set(_ request: Request, _ context: GatehouseRequestContext) async throws -> Response {
        let (id, kind) = try place(context)
        let text = try await request.decode(AdminIdentifierRequest.self).identifier
        let identifier = try Problem.checking("identifier") { () throws(Refusal) in
            try Identifier(text, of: kind, home: home)
        }
        let outcome = try await identifiers.set(
            identifier, of: id, actor: .operator, deadline: context.deadline.forDatabase)
        return try await answer(outcome, context)
    }

    @Sendable private func remove(_ request: Request, _ context: GatehouseRequestContext) async throws -> Response {
        let (id, kind) = try place(context)
        let outcome = try await identifiers.remove(
            kind, of: id, actor: .operator, deadline: context.deadline.forDatabase)
        return try await answer(outcome, context)
    }

    @Sendable private func move(_ request: Request, _ context: GatehouseRequestContext) async throws -> Response {
        let (id, kind) = try place(context)
        let receiver = try await request.decode(AdminMoveIdentifierRequest.self).to
        let outcome = try await identifiers.move(
            kind, from: id, to: receiver, actor: .operator, deadline: context.deadline.forDatabase)
        if case .changed = outcome { _ = try await administration.deliver(about: id) }
        return try await answer(outcome, context)
    }

    /// Whose identifier, and of which kind; for who may change it.
    private func place(_ context: GatehouseRequestContext) throws -> (UUID, Identifier.Kind) {
        try context.requireRecentOperator(age)
        guard let kind = context.parameters.get("kind").flatMap(Identifier.Kind.init(rawValue:)) else {
            throw Problem(.notFound)
        }
        return (try context.uuid("id"), kind)
    }

    private func answer(_ outcome: IdentifierOutcome, _ context: GatehouseRequestContext) async throws -> Response {
        let account = try outcome.account(
            taken: Problem(
                .identifierTaken, "Another user has proved that this is theirs. It can be moved from there."),
            noSuchUser: Problem(.notFound))
        _ = try await administration.deliver(about: account.id)
        worker.ring()
        guard let user = try await users.user(account.id, deadline: context.deadline.forDatabase) else {
            throw Problem(.notFound)
        }
        return try .json(user)
    }
}
