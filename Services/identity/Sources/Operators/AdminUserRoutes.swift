import Foundation
import GatehouseServiceContracts
import GatehouseServiceKit
import Hummingbird
import IdentityCore

/// Users, for operators. Changes use the same functions as the commands.
struct AdminUserRoutes: Sendable {
    let users: AdminUserStore
    let accounts: AccountStore
    let administration: UserAdministration
    let deletion: AccountDeletion
    let audit: AuditStore
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
        try await audit.noteViewing(of: nil, "users")
        let page = try await users.list(search, after: cursor, limit: limit)
        return try .json(AdminUserList(users: page.users, next: page.next?.text))
    }

    @Sendable private func create(_ request: Request, _ context: GatehouseRequestContext) async throws -> Response {
        try context.requireRecentOperator(age)
        let account = try await administration.create(request.decode(AdminCreateUserRequest.self))
        return try await .json(user(account.id), status: .created)
    }

    @Sendable private func read(_ request: Request, _ context: GatehouseRequestContext) async throws -> Response {
        let user = try await user(context.uuid("id"))
        try await audit.noteViewing(of: user.id, "user")
        return try .json(user)
    }

    @Sendable private func update(_ request: Request, _ context: GatehouseRequestContext) async throws -> Response {
        try context.requireRecentOperator(age)
        let id = try context.uuid("id")
        let change = try await AccountChange(request.decode(AdminUpdateUserRequest.self))
        if let role = change.role, role.name != context.user?.role { try requireOtherUser(id, context) }
        guard try await accounts.change(id, to: change, actor: .operator) != nil else { throw Problem(.notFound) }
        return try await deliverAndRead(id)
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
        if state == .disabled { try requireOtherUser(id, context) }
        let account = try await accounts.setState(state, of: id, actor: .operator)
        guard account != nil else { throw Problem(.notFound) }
        return try await deliverAndRead(id)
    }

    @Sendable private func delete(_ request: Request, _ context: GatehouseRequestContext) async throws -> Response {
        try context.requireRecentOperator(age)
        let id = try context.uuid("id")
        try requireOtherUser(id, context)
        guard try await deletion(id, actor: .operator) else { throw Problem(.notFound) }
        return .empty(.accepted)
    }

    /// Keeps an operator from removing the last access to administration by mistake.
    private func requireOtherUser(_ id: UUID, _ context: GatehouseRequestContext) throws {
        guard id == context.user?.id else { return }
        throw Problem(
            .invalidRequest, "You cannot disable or delete yourself here, nor give up your role. Ask another operator.")
    }

    /// Delivers the user's tasks to tokens at once, and answers with the user and the tasks that remain.
    private func deliverAndRead(_ id: UUID) async throws -> Response {
        _ = try await administration.deliver(about: id)
        worker.wake()
        return try await .json(user(id))
    }

    private func user(_ id: UUID) async throws -> AdminUser {
        guard let user = try await users.user(id) else { throw Problem(.notFound) }
        return user
    }
}

/// Users' e-mail addresses and phone numbers, for operators. An identifier that an operator sets counts as verified.
struct AdminIdentifierRoutes: Sendable {
    let users: AdminUserStore
    let changes: IdentifierChangeStore
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
        let outcome = try await changes.set(identifier, of: id, actor: .operator)
        return try await answer(outcome)
    }

    @Sendable private func remove(_ request: Request, _ context: GatehouseRequestContext) async throws -> Response {
        let (id, kind) = try place(context)
        let outcome = try await changes.remove(kind, of: id, actor: .operator)
        return try await answer(outcome)
    }

    @Sendable private func move(_ request: Request, _ context: GatehouseRequestContext) async throws -> Response {
        let (id, kind) = try place(context)
        let receiver = try await request.decode(AdminMoveIdentifierRequest.self).to
        let outcome = try await changes.move(kind, from: id, to: receiver, actor: .operator)
        if case .changed = outcome { _ = try await administration.deliver(about: id) }
        return try await answer(outcome)
    }

    /// The user and the kind in the path, for an operator who may make changes.
    private func place(_ context: GatehouseRequestContext) throws -> (UUID, Identifier.Kind) {
        try context.requireRecentOperator(age)
        guard let kind = context.parameters.get("kind").flatMap(Identifier.Kind.init(rawValue:)) else {
            throw Problem(.notFound)
        }
        return (try context.uuid("id"), kind)
    }

    private func answer(_ outcome: IdentifierOutcome) async throws -> Response {
        let account = try outcome.account(
            taken: Problem(
                .identifierTaken, "Another user has verified it. It can be moved from that user."),
            noSuchUser: Problem(.notFound))
        _ = try await administration.deliver(about: account.id)
        worker.wake()
        guard let user = try await users.user(account.id) else { throw Problem(.notFound) }
        return try .json(user)
    }
}

/// Users' sessions and devices, for operators.
struct AdminSessionRoutes: Sendable {
    let accounts: AccountStore
    let administration: UserAdministration
    let audit: AuditStore
    let tokens: TokensClient
    let devices: DevicesClient
    let age: AuthenticationAge
    let worker: OutboxWorker

    func add(to admin: AdminRouter) {
        admin.get("/users/{id}/sessions", use: list)
        admin.delete("/users/{id}/sessions", use: endAll)
        admin.delete("/users/{id}/sessions/{session}", use: end)
        admin.get("/users/{id}/devices", use: listDevices)
    }

    @Sendable private func list(_ request: Request, _ context: GatehouseRequestContext) async throws -> Response {
        let id = try await existing(context)
        let sessions = try await tokens.sessions(of: id)
        try await audit.noteViewing(of: id, "sessions")
        return try .json(sessions)
    }

    @Sendable private func listDevices(
        _ request: Request, _ context: GatehouseRequestContext
    ) async throws -> Response {
        let id = try await existing(context)
        let devices = try await devices.devices(of: id).devices
        try await audit.noteViewing(of: id, "devices")
        return try .json(DeviceList(devices: devices.map(Device.init)))
    }

    @Sendable private func endAll(_ request: Request, _ context: GatehouseRequestContext) async throws -> Response {
        try context.requireRecentOperator(age)
        let id = try context.uuid("id")
        guard try await accounts.endSessions(of: id, actor: .operator) else { throw Problem(.notFound) }
        return try await ended(of: id, "revoke_sessions", "The sessions have not ended yet. They will, within moments.")
    }

    @Sendable private func end(_ request: Request, _ context: GatehouseRequestContext) async throws -> Response {
        try context.requireRecentOperator(age)
        let (id, session) = (try context.uuid("id"), try context.uuid("session"))
        let sessions = try await tokens.sessions(of: id).sessions
        guard sessions.contains(where: { $0.id == session }),
            try await accounts.endSession(session, of: id)
        else { throw Problem(.notFound) }
        return try await ended(of: id, "end_session", "The session has not ended yet. It will, within moments.")
    }

    /// The outbox's tasks are done when the response is sent, or soon after a response with `UNAVAILABLE`.
    private func ended(of id: UUID, _ kind: String, _ pending: String) async throws -> Response {
        let left = try await administration.deliver(about: id)
        worker.wake()
        guard !left.contains(kind) else { throw Problem(.unavailable, pending) }
        return .empty()
    }

    /// The user in the path, who must exist.
    private func existing(_ context: GatehouseRequestContext) async throws -> UUID {
        let id = try context.uuid("id")
        guard try await accounts.exists(id) else { throw Problem(.notFound) }
        return id
    }
}
