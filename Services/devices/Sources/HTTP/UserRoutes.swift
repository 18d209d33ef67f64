import Contracts
import Foundation
import Hummingbird
import ServiceKit

/// What identity asks about a whole user.
struct UserRoutes: Sendable {
    let store: DeviceStore

    func add(to router: ServiceRouter) {
        router.internal(callers: "identity")
            .get("/users/{id}/devices", use: export)
            .delete("/users/{id}", use: erase)
    }

    private func export(_ request: Request, context: GatehouseRequestContext) async throws -> Response {
        let devices = try await store.devices(of: context.uuid("id"), deadline: context.deadline.forDatabase)
        return try .json(DeviceExport(devices: devices))
    }

    /// Answers 204 also where nothing is kept: identity asks again until it has heard so.
    private func erase(_ request: Request, context: GatehouseRequestContext) async throws -> Response {
        try await store.erase(user: context.uuid("id"), deadline: context.deadline.forDatabase)
        return .empty()
    }
}
