import GatehouseService

/// The routes, under the paths that the gateway's routes file forwards to this service.
struct OrdersRoutes: Sendable {
    let store: ItemStore

    func add(to router: ServiceRouter) {
        router.get("/v1/orders", use: list)
        router.get("/v1/orders/{id}", use: find)
    }

    @Sendable func list(_ request: Request, context: GatehouseRequestContext) async throws -> Response {
        let user = try context.requireUser()
        return try .json(ItemList(items: try await store.items().map { Item(id: $0, of: user) }, role: user.role))
    }

    @Sendable func find(_ request: Request, context: GatehouseRequestContext) async throws -> Response {
        let user = try context.requireUser()
        guard let id = context.parameters.get("id", as: Int.self), try await store.items().contains(id) else {
            throw Problem(.notFound)
        }
        return try .json(Item(id: id, of: user))
    }
}
