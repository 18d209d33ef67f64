import Contracts
import Foundation
import Hummingbird
import ServiceKit

/// What operators do, and other systems in their name.
struct AdminRoutes: Sendable {
    let gate: OperatorGate
    let users: AdminUserRoutes
    let sessions: AdminSessionRoutes
    let identifiers: AdminIdentifierRoutes
    let log: AdminLogRoutes

    func add(to router: ServiceRouter) {
        let admin = AdminRouter(router, gate: gate)
        users.add(to: admin)
        sessions.add(to: admin)
        identifiers.add(to: admin)
        log.add(to: admin)
    }
}

extension AuditLog {
    /// Where an entry concerns nobody in particular: no user has this id.
    static let nobody = UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))

    /// Notes that somebody who administers has read what is kept of people, before they are told it.
    ///
    /// - Parameters:
    ///   - userID: whose it is; `nil` where it is that of several.
    ///   - detail: what was read, in a word of ours.
    func noteViewing(of userID: UUID?, _ detail: String, _ context: GatehouseRequestContext) async throws {
        try await Self.record(
            .viewed, userID ?? Self.nobody, by: .operator, detail: detail, on: database,
            deadline: context.deadline.forDatabase)
    }
}
