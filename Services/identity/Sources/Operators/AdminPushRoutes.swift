import Foundation
import GatehouseServiceContracts
import GatehouseServiceKit
import HTTPTypes
import Hummingbird
import IdentityCore

/// Pushes, for operators: a test of their own devices, and what a user did not receive. devices sends and lists them.
struct AdminPushRoutes: Sendable {
    let accounts: AccountStore
    let audit: AuditStore
    let devices: DevicesClient
    let limits: AttemptLimits

    func add(to admin: AdminRouter) {
        admin.operators.post("/test-pushes", use: send)
        admin.operators.get("/test-pushes/{id}", use: status)
        admin.get("/users/{id}/undelivered-pushes", use: listUndelivered)
    }

    /// The recipient is the user of the access token, whatever the request contains.
    @Sendable private func send(_ request: Request, _ context: GatehouseRequestContext) async throws -> Response {
        let user = try context.requireUser().id
        let push = try await request.decode(TestPushRequest.self)
        try await limits.admit(testPushOf: user)
        let key = request.headers[.idempotencyKey] ?? UUID().path
        let accepted = try await devices.sendTestPush(push, to: user, key: key)
        try await AuditStore.record(.testPushSent, user, by: .operator, on: audit.database)
        return try .json(accepted, status: .accepted)
    }

    @Sendable private func status(_ request: Request, _ context: GatehouseRequestContext) async throws -> Response {
        try await .json(devices.testPush(context.uuid("id"), to: context.requireUser().id))
    }

    @Sendable private func listUndelivered(
        _ request: Request, _ context: GatehouseRequestContext
    ) async throws -> Response {
        let id = try context.uuid("id")
        guard try await accounts.exists(id) else { throw Problem(.notFound) }
        let pushes = try await devices.undeliveredPushes(of: id)
        try await audit.noteViewing(of: id, "pushes")
        return try .json(pushes)
    }
}

extension AuditEvent {
    /// An operator has sent a push to their own devices.
    static let testPushSent = Self("test_push_sent")

    static let ofAdministration = [testPushSent]
}

extension HTTPField.Name {
    /// As in the IETF's draft "The Idempotency-Key HTTP Header Field".
    fileprivate static let idempotencyKey = Self("Idempotency-Key")!
}
