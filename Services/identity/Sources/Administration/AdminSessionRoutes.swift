import Contracts
import Foundation
import Hummingbird
import ServiceKit

/// Users' sessions and devices, for operators.
struct AdminSessionRoutes: Sendable {
    let accounts: AccountStore
    let administration: UserAdministration
    let audit: AuditLog
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
        let sessions = try await tokens.sessions(of: id, deadline: context.deadline)
        try await audit.noteViewing(of: id, "sessions", context)
        return try .json(sessions)
    }

    @Sendable private func listDevices(
        _ request: Request, _ context: GatehouseRequestContext
    ) async throws -> Response {
        let id = try await existing(context)
        let devices = try await devices.devices(of: id, deadline: context.deadline).devices
        try await audit.noteViewing(of: id, "devices", context)
        return try .json(DeviceList(devices: devices.map(Device.init)))
    }

    @Sendable private func endAll(_ request: Request, _ context: GatehouseRequestContext) async throws -> Response {
        try context.requireRecentOperator(age)
        let id = try context.uuid("id")
        guard try await accounts.endSessions(of: id, actor: .operator, deadline: context.deadline.forDatabase) else {
            throw Problem(.notFound)
        }
        return try await ended(of: id, "revoke_sessions", "The sessions have not ended yet. They will, within moments.")
    }

    @Sendable private func end(_ request: Request, _ context: GatehouseRequestContext) async throws -> Response {
        try context.requireRecentOperator(age)
        let (id, session) = (try context.uuid("id"), try context.uuid("session"))
        let sessions = try await tokens.sessions(of: id, deadline: context.deadline).sessions
        guard sessions.contains(where: { $0.id == session }),
            try await accounts.endSession(session, of: id, deadline: context.deadline.forDatabase)
        else { throw Problem(.notFound) }
        return try await ended(of: id, "end_session", "The session has not ended yet. It will, within moments.")
    }

    /// What the outbox holds is done with the answer, or soon after one that says `UNAVAILABLE`.
    private func ended(of id: UUID, _ kind: String, _ pending: String) async throws -> Response {
        let left = try await administration.deliver(about: id)
        worker.ring()
        guard !left.contains(kind) else { throw Problem(.unavailable, pending) }
        return .empty()
    }

    /// The user of the path, who is there.
    private func existing(_ context: GatehouseRequestContext) async throws -> UUID {
        let id = try context.uuid("id")
        guard try await accounts.standing(of: id, deadline: context.deadline.forDatabase) != nil else {
            throw Problem(.notFound)
        }
        return id
    }
}

extension Device {
    /// As its user sees it.
    fileprivate init(_ entry: DeviceExport.Entry) {
        self.init(
            id: entry.id, installationId: entry.installationId, environment: entry.environment,
            bundleId: entry.bundleId, kind: entry.kind, status: entry.status, locale: entry.locale,
            timeZone: entry.timeZone, appVersion: entry.appVersion, createdAt: entry.createdAt,
            updatedAt: entry.updatedAt)
    }
}
