import Hummingbird
import HummingbirdCore
import Observability

extension Span {
    /// The span of a request that has been answered, from when its head was read.
    init(serving request: Request, _ context: GatehouseRequestContext, status: Int) {
        let method = request.method.rawValue
        var attributes: [SpanAttribute] = [
            .requestID(context.requestID), .method(method), .status(status), .caller(context.caller ?? "none"),
        ]
        var name = SpanAttribute.nameOfMethod(method)
        if let route = context.coreContext.endpointPath.value, route != RoutingResponder.notFoundRoute {
            attributes.append(.route(route))
            name += " " + route
        }
        // What is wrong with a request is no fault of who answers it.
        let isError = status >= 500
        if isError { attributes.append(.errorType(String(status))) }
        self.init(
            traceID: context.trace.traceID, spanID: context.trace.spanID, parentSpanID: context.parentSpanID,
            name: name, kind: .server, time: .endingNow(since: context.readAt), attributes: attributes,
            isError: isError)
    }
}
