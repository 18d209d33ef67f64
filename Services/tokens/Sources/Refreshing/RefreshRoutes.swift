import GatehouseServiceContracts
import GatehouseServiceKit
import Hummingbird

/// Refreshing a session (`POST /v1/auth/refresh`).
struct RefreshRoutes: Sendable {
    let refresher: Refresher

    func add(to router: ServiceRouter) {
        router.post("/v1/auth/refresh") { request, context in
            let client = try Refresher.Client(context)
            let body = try await request.decode(RefreshRequest.self)
            return Response.tokens(try await refresher.refresh(body.refreshToken, from: client).json)
        }
    }
}

extension Refresher.Client {
    /// - Throws: `UNAVAILABLE` when the client no longer waits for the response.
    init(_ context: GatehouseRequestContext) throws(Problem) {
        guard context.isAnswerAwaited else { throw Problem(.unavailable) }
        self.init(
            ipAddress: context.ipAddress, arrivedAt: context.arrivedAt, isAwaited: { context.isAnswerAwaited })
    }
}
