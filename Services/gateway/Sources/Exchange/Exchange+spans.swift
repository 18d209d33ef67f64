import GatehouseBytes
import GatehouseObservability
import NIOCore

/// The spans of a request whose trace is recorded: the gateway's own, and below it the span of the call to the
/// upstream. The upstream's own span is a child of the latter.
extension Exchange {
    /// - Parameter nanoseconds: from the request's head to the end of its response.
    func offerSpans(nanoseconds: Int64) {
        guard let spans = worker.gateway.tracer?.spans else { return }
        let time = SpanTime.endingNow(after: nanoseconds)
        let requestID = FinishedSpan.Attribute.requestID(String(decoding: request.requestID, as: UTF8.self))
        // Delivered before its parent, so that a trace with the parent has this span too.
        if let sentAfter {
            let start = time.start + UInt64(max(0, sentAfter))
            spans.offer(clientSpan(SpanTime(start: start, end: time.end), requestID))
        }
        spans.offer(serverSpan(time, requestID))
    }

    private func serverSpan(_ time: SpanTime, _ requestID: FinishedSpan.Attribute) -> FinishedSpan {
        let isError = status >= 500
        return FinishedSpan(
            traceID: request.trace.traceID, spanID: Hexadecimal.string(request.serverSpan),
            parentSpanID: request.trace.parent == 0 ? nil : Hexadecimal.string(request.trace.parent),
            name: "\(method.description) \(route)", kind: .server, time: time,
            attributes: [
                requestID, .method(method.description), .route(route),
                .protocolVersion(client.peer.isHTTP2 ? "2" : "1.1"),
            ] + outcome(isError: isError),
            isError: isError)
    }

    private func clientSpan(_ time: SpanTime, _ requestID: FinishedSpan.Attribute) -> FinishedSpan {
        // The span of a call has failed for a 4xx too: the gateway is the client of that call.
        let isError = refusal != nil || status >= 400
        return FinishedSpan(
            traceID: request.trace.traceID, spanID: Hexadecimal.string(request.clientSpan),
            parentSpanID: Hexadecimal.string(request.serverSpan), name: "\(method.description) \(upstreamName)",
            kind: .client, time: time,
            attributes: [requestID, .method(method.description), .peer(upstreamName)] + upstreamAddress
                + (resends > 0 ? [.resends(resends)] : []) + outcome(isError: isError),
            isError: isError)
    }

    private var route: String { routeState.route.pattern.description }

    private var upstreamName: String {
        guard case .upstream(let upstream) = routeState.route.target else { return routeState.route.name }
        return upstream.name
    }

    private var upstreamAddress: [FinishedSpan.Attribute] {
        guard let address = pool?.endpoint.address, let host = address.ipAddress else { return [] }
        return [.server(host)] + (address.port.map { [.serverPort($0)] } ?? [])
    }

    /// - Returns: no status where no response was written.
    private func outcome(isError: Bool) -> [FinishedSpan.Attribute] {
        let error = refusal ?? (isError ? String(status) : nil)
        return (status > 0 ? [.status(status)] : []) + (error.map { [.errorType($0)] } ?? [])
    }
}
