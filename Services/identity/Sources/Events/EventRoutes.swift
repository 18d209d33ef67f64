import Contracts
import Foundation
import Hummingbird
import ServiceKit

/// The feed of events, for other systems. They show a credential of their own.
struct EventRoutes: Sendable {
    let feed: EventFeed

    func add(to router: ServiceRouter) {
        router.internal(callers: "events").get("/events", use: events)
    }

    /// A long poll: `after` the cursor of the page before, `wait` in seconds.
    @Sendable func events(_ request: Request, context: GatehouseRequestContext) async throws -> Response {
        let end = try context.longPollEnd(of: request)
        return try .json(try await feed.page(after: request.uri.queryParameters.get("after"), waitingUntil: end))
    }
}
