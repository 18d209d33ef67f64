import Hummingbird
import ServiceKit

/// Registers each route twice: under `/v1/admin` for operators, who come through the gateway, and under
/// `/internal/admin` for other systems, which show a credential of their own.
struct AdminRouter {
    private let doors: [RouterGroup<GatehouseRequestContext>]

    typealias Handler = @Sendable (Request, GatehouseRequestContext) async throws -> Response

    /// - Parameter gate: lets in operators.
    init(_ router: ServiceRouter, gate: OperatorGate) {
        let operators = router.group("/v1/admin").add(middleware: UncachedResponses()).add(middleware: gate)
        let systems = router.internal(callers: "admin").add(middleware: UncachedResponses())
            .add(middleware: SystemScope()).group("/admin")
        doors = [operators, systems]
    }

    func get(_ path: RouterPath, use handler: @escaping Handler) {
        for door in doors { door.get(path, use: handler) }
    }

    func post(_ path: RouterPath, use handler: @escaping Handler) {
        for door in doors { door.post(path, use: handler) }
    }

    func put(_ path: RouterPath, use handler: @escaping Handler) {
        for door in doors { door.put(path, use: handler) }
    }

    func patch(_ path: RouterPath, use handler: @escaping Handler) {
        for door in doors { door.patch(path, use: handler) }
    }

    func delete(_ path: RouterPath, use handler: @escaping Handler) {
        for door in doors { door.delete(path, use: handler) }
    }
}

/// What operators see is kept by no cache.
private struct UncachedResponses: RouterMiddleware {
    func handle(
        _ request: Request, context: GatehouseRequestContext,
        next: (Request, GatehouseRequestContext) async throws -> Response
    ) async throws -> Response {
        var response = try await next(request, context)
        response.headers[.cacheControl] = "no-store"
        return response
    }
}
