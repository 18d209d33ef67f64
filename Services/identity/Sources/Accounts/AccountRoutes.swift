import Contracts
import Hummingbird
import ServiceKit

/// What a user who is signed in does with their own account. The gateway says who that is.
struct AccountRoutes: Sendable {
    let accounts: AccountStore
    let deletion: AccountDeletion
    let unlinking: Unlinking
    let export: Export
    let age: AuthenticationAge
    let worker: OutboxWorker

    func add(to router: ServiceRouter) {
        router.get("/v1/auth/me") { _, context in
            try await Response.json(me(context))
        }
        router.patch("/v1/auth/me") { request, context in
            try await Response.json(update(request, context))
        }
        router.delete("/v1/auth/account") { _, context in
            try await delete(context)
            return Response.empty(.accepted)
        }
        router.get("/v1/auth/export") { _, context in
            let user = try context.requireUser()
            try age.require(user)
            return try await Response.json(export(user, context: context), holdsToken: true)
        }
        // One route for each provider. A route with a parameter in that place would be hidden, for every method, by
        // the one that is spelled out (POST /v1/auth/identities/apple).
        for provider in AuthProvider.known {
            router.delete("/v1/auth/identities/\(provider.rawValue)") { _, context in
                let user = try context.requireUser()
                return try await Response.json(unlinking(provider, from: user, context: context))
            }
        }
    }

    private func me(_ context: GatehouseRequestContext) async throws -> User {
        let id = try context.requireUser().id
        guard let account = try await accounts.account(id, deadline: context.deadline.forDatabase) else {
            throw Problem(.invalidToken)
        }
        return account.user
    }

    /// A deletion that was begun goes on whenever it is asked for again: of an account that is gone nobody can prove
    /// anything.
    private func delete(_ context: GatehouseRequestContext) async throws {
        let user = try context.requireUser()
        do {
            try age.require(user)
        } catch {
            let standing = try await accounts.standing(of: user.id, deadline: context.deadline.forDatabase)
            guard standing == nil else { throw error }
        }
        try await deletion(user.id, deadline: context.deadline)
    }

    /// A field that is absent or null stays as it is; an empty name takes the name away.
    private func update(_ request: Request, _ context: GatehouseRequestContext) async throws -> User {
        let id = try context.requireUser().id
        guard let text = try await request.decode(UpdateUserRequest.self).displayName else {
            return try await me(context)
        }
        let name = try Problem.checking("displayName") { () throws(Refusal) in try DisplayName.read(text) }
        guard let account = try await accounts.rename(id, to: name, deadline: context.deadline.forDatabase) else {
            throw Problem(.invalidToken)
        }
        worker.ring()
        return account.user
    }
}
