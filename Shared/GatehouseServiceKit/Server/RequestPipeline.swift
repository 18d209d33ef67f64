import GatehouseLimits
import GatehouseObservability
import GatehouseServiceContracts
import HTTPTypes
import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import Tracing

/// The steps for every request, in order: caller and deadline, route, response or problem, metrics and log.
struct RequestPipeline: Sendable {
    let routes: RoutingResponder
    let credentials: CallerCredentials
    let metrics: ServiceRequestMetrics
    let readiness: Readiness
    /// `nil` where all requests only read: one that waited in its socket may be answered.
    var stalls: StallWatch? = StallWatch()
    /// The timeout for PostgreSQL.
    let databaseTimeout: Duration
    /// `nil`: no trace is recorded.
    let tracer: GatehouseTracer?
    let logger: Logger
    /// Whether a route's work is cancelled at the caller's deadline.
    var endsAtDeadline = false
    /// `false` for the admin port, which monitoring calls every few seconds.
    let isLogged: Bool

    func respond(to request: Request, channel: any Channel) async -> Response {
        let source = ApplicationRequestContextSource(channel: channel, logger: logger)
        let arrivals = ArrivalTimes.ofConnection
        var context = GatehouseRequestContext(
            fields: request.headers, readAt: arrivals?.next() ?? .now, source: source,
            credentials: credentials, databaseTimeout: databaseTimeout, sampler: tracer?.sampler)
        if let stalls { context.waited(for: stalls.wait(ofReadAt: context.readAt, openedAt: arrivals?.openedAt)) }
        var scope = ServiceContext.topLevel
        scope.requestID = context.requestID
        scope.traceContext = context.trace
        let span = tracer?.startServerSpan(in: scope, parentSpanID: context.parentSpanID, since: context.readAt)
        return await ServiceContext.withValue(scope) { [context] in
            var response = await Deadline.with(context.deadline) { await answer(request, context) }
            // Refusals too must have no body, because the client would read it as the head of the next response.
            if request.method == .head { response = response.createHeadResponse() }
            response.headers[.requestID] = context.requestID
            if readiness.isDraining { response.headers[.connection] = "close" }
            finish(request, context, response.status.code)
            span?.end(serving: request, context, status: response.status.code)
            return response
        }
    }

    private func answer(_ request: Request, _ context: GatehouseRequestContext) async -> Response {
        do {
            // The caller no longer waits for the response, so the request is not handled.
            guard !context.deadline.hasPassed else {
                await routes.noteRoute(of: request, in: context)
                logger.warning(
                    "unavailable", .reason("the deadline had passed before the request was handled"),
                    .route(route(context)), .stall(context.stall), .waited(context.arrivedAt.duration(to: .now)))
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
