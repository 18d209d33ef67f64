import Contracts
import HTTPTypes
import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import Observability
import ServiceContextModule

/// What happens to every request, in order: who asks and until when, the route, the answer or the problem, what is
/// counted and logged.
struct RequestPipeline: Sendable {
    let routes: RoutingResponder
    let credentials: CallerCredentials
    let metrics: RouteMetrics
    let readiness: Readiness
    let stalls = StallWatch()
    /// How long PostgreSQL may keep a request.
    let patience: Duration
    /// `nil`: no trace is recorded.
    let tracing: Tracing?
    let logger: Logger
    /// Whether a route's work is cancelled when the caller's deadline comes.
    var endsAtDeadline = false
    /// Off for the admin port, which monitoring asks every few seconds.
    let isLogged: Bool

    func respond(to request: Request, channel: any Channel) async -> Response {
        let source = ApplicationRequestContextSource(channel: channel, logger: logger)
        var context = GatehouseRequestContext(
            fields: request.headers, readAt: ArrivalTimes.ofConnection?.next() ?? .now, source: source,
            credentials: credentials, patience: patience, sampler: tracing?.sampler)
        context.waited(for: stalls.wait(ofReadAt: context.readAt))
        var scope = ServiceContext.topLevel
        let spans = context.trace.isSampled ? tracing?.spans : nil
        scope.requestScope = RequestScope(requestID: context.requestID, trace: context.trace, spans: spans)
        return await ServiceContext.withValue(scope) { [context] in
            var response = await answer(request, context)
            // Refusals too: a body would be taken for the next response's head.
            if request.method == .head { response = response.createHeadResponse() }
            response.headers[.requestID] = context.requestID
            if readiness.isDraining { response.headers[.connection] = "close" }
            finish(request, context, response.status.code)
            spans?.offer(Span(serving: request, context, status: response.status.code))
            return response
        }
    }

    private func answer(_ request: Request, _ context: GatehouseRequestContext) async -> Response {
        do {
            // Nobody waits for the answer any more: whatever it asked for is not done.
            guard !context.deadline.hasPassed else {
                await routes.find(request, context: context)
                throw Problem(.unavailable)
            }
            guard endsAtDeadline else { return try await routes.respond(to: request, context: context) }
            return try await context.deadline.run { [routes] in
                try await routes.respond(to: request, context: context)
            }
        } catch {
            let (response, isUnforeseen) = ProblemResponse.make(for: error, requestID: context.requestID)
            if isUnforeseen {
                logger.error("unforeseen error", .error(error), .route(route(context)))
            } else if response.status == .serviceUnavailable, !(error is Problem) {
                logger.warning("unavailable", .error(error), .route(route(context)))
            }
            return response
        }
    }

    private func finish(_ request: Request, _ context: GatehouseRequestContext, _ status: Int) {
        let duration = context.readAt.duration(to: .now)
        let method = request.method.rawValue
        metrics.record(
            route: context.coreContext.endpointPath.value, method: method, status: status, duration: duration)
        if isLogged {
            logger.info(
                "request", .method(method), .route(route(context)), .status(status), .duration(duration),
                .caller(context.caller ?? "none"))
        }
    }

    private func route(_ context: GatehouseRequestContext) -> String {
        context.coreContext.endpointPath.value ?? RoutingResponder.notFoundRoute
    }
}
