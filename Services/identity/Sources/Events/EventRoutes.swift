import GatehouseServiceKit
import Hummingbird

/// The feed of events, for other systems. They authenticate with a credential of their own.
struct EventRoutes: Sendable {
    let feed: EventFeedStore

    func add(to router: ServiceRouter) {
        router.internal(callers: "events").get("/events", use: list)
    }

    /// A long poll: `after` is the cursor of the previous page, `wait` is in seconds.
    @Sendable func list(_ request: Request, context: GatehouseRequestContext) async throws -> Response {
        let end = try context.longPollEnd(of: request)
        return try .json(try await feed.page(after: request.uri.queryParameters.get("after"), waitingUntil: end))
    }
}
