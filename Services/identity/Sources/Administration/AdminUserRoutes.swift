import Contracts
import Foundation
import Hummingbird
import ServiceKit

/// Users, for operators. What they change takes the ways that the commands take.
struct AdminUserRoutes: Sendable {
    let users: AdminUserStore
    let accounts: AccountStore
    let administration: UserAdministration
    let deletion: AccountDeletion
    let audit: AuditLog
    let age: AuthenticationAge
    let worker: OutboxWorker
    let home: PhoneRegion?

    func add(to admin: AdminRouter) {
        admin.get("/users", use: list)
        admin.post("/users", use: create)
        admin.get("/users/{id}", use: read)
        admin.patch("/users/{id}", use: update)
        admin.delete("/users/{id}", use: delete)
        admin.post("/users/{id}/disable", use: disable)
        admin.post("/users/{id}/enable", use: enable)
    }

    @Sendable private func list(_ request: Request, _ context: GatehouseRequestContext) async throws -> Response {
        let search = UserSearch(
            identifier: try request.queried("identifier") { text throws(Refusal) in
                try IdentifierPrefix(text, home: home)
            },
            id: try request.queried("id") { text throws(Refusal) in try IDPrefix(text) },
            state: try request.queried("state") { text throws(Refusal) in
                guard let state = AccountState(rawValue: text) else { throw Refusal("Want active or disabled.") }
                return state
            },
            role: try request.queried("role") { text throws(Refusal) in try Role(text) })
        let cursor = try request.queried("after") { text throws(Refusal) in
            try UserCursor(text, order: search.order)
        }
        let limit = try request.queriedLimit()
        try await audit.noteViewing(of: nil, "users", context)
        let page = try await users.list(
            search, after: cursor, limit: limit, deadline: context.deadline.forDatabase)
        return try .json(AdminUserList(users: page.users, next: page.next?.text))
    }

    @Sendable private func create(_ request: Request, _ context: GatehouseRequestContext) async throws -> Response {
        try context.requireRecentOperator(age)
        let account = try await administration.create(
            request.decode(AdminCreateUserRequest.self), deadline: context.deadline)
        return try await .json(user(account.id, context), status: .created)
    }

    @Sendable private func read(_ request: Request, _ context: GatehouseRequestContext) async throws -> Response {
        let user = try await user(context.uuid("id"), context)
        try await audit.noteViewing(of: user.id, "user", context)
        return try .json(user)
    }

    @Sendable private func update(_ request: Request, _ context: GatehouseRequestContext) async throws -> Response {
        try context.requireRecentOperator(age)
        let id = try context.uuid("id")
        let change = try await AccountChange(request.decode(AdminUpdateUserRequest.self))
        if let role = change.role, role.name != context.user?.role { try refuseOneself(id, context) }
        guard
            try await accounts.change(id, to: change, actor: .operator, deadline: context.deadline.forDatabase) != nil
        else { throw Problem(.notFound) }
        return try await told(id, context)
    }

    @Sendable private func disable(_ request: Request, _ context: GatehouseRequestContext) async throws -> Response {
        try await setState(.disabled, context)
    }

    @Sendable private func enable(_ request: Request, _ context: GatehouseRequestContext) async throws -> Response {
        try await setState(.active, context)
    }

    private func setState(_ state: AccountState, _ context: GatehouseRequestContext) async throws -> Response {
        try context.requireRecentOperator(age)
        let id = try context.uuid("id")
        if state == .disabled { try refuseOneself(id, context) }
        let account = try await accounts.setState(
            state, of: id, actor: .operator, deadline: context.deadline.forDatabase)
        guard account != nil else { throw Problem(.notFound) }
        return try await told(id, context)
    }

    @Sendable private func delete(_ request: Request, _ context: GatehouseRequestContext) async throws -> Response {
        try context.requireRecentOperator(age)
        let id = try context.uuid("id")
        try refuseOneself(id, context)
        guard try await deletion(id, actor: .operator, deadline: context.deadline) else { throw Problem(.notFound) }
        return .empty(.accepted)
    }

    /// So that no operator locks everybody out of administration by mistake.
    private func refuseOneself(_ id: UUID, _ context: GatehouseRequestContext) throws {
        guard id == context.user?.id else { return }
        throw Problem(
            .invalidRequest, "You cannot disable or delete yourself here, nor give up your role. Ask another operator.")
    }

    /// Tells tokens at once, and the caller what tokens was not told yet.
    private func told(_ id: UUID, _ context: GatehouseRequestContext) async throws -> Response {
        _ = try await administration.deliver(about: id)
        worker.ring()
        return try await .json(user(id, context))
    }

    private func user(_ id: UUID, _ context: GatehouseRequestContext) async throws -> AdminUser {
        guard let user = try await users.user(id, deadline: context.deadline.forDatabase) else {
            throw Problem(.notFound)
        }
        return user
    }
}
