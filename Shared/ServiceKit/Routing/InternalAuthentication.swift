import Contracts
import Hummingbird
import HummingbirdCore

/// Lets in only requests that show the credential of one of the callers.
struct InternalAuthentication: RouterMiddleware {
    typealias Context = GatehouseRequestContext

    let callers: Set<String>

    func handle(
        _ request: Request, context: GatehouseRequestContext,
        next: (Request, GatehouseRequestContext) async throws -> Response
    ) async throws -> Response {
        guard let caller = context.caller, callers.contains(caller) else { throw Problem(.forbidden) }
        return try await next(request, context)
    }
}
