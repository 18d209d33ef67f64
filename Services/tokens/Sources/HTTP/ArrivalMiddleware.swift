import Hummingbird
import ServiceKit

/// Judges when each request came: one that waited in the socket of a process that stood still is older than it looks.
/// What it asks for is judged as of then, and not done at all when its deadline has passed meanwhile.
struct ArrivalMiddleware: RouterMiddleware {
    typealias Context = GatehouseRequestContext

    let stalls: StallWatch

    func handle(
        _ request: Request, context: GatehouseRequestContext,
        next: (Request, GatehouseRequestContext) async throws -> Response
    ) async throws -> Response {
        var context = context
        context.arrived(at: stalls.arrival(ofReadAt: context.arrivedAt))
        return try await next(request, context)
    }
}
