import TestKit
import Testing

/// The spans of one trace, as a person sees them who follows a request.
struct TraceTree {
    let spans: [OTLPReceiver.Span]

    /// The spans that a request's identifier leads to, of those that have come so far.
    init(requestID: String, in receiver: OTLPReceiver) {
        spans = receiver.spans.filter { $0.requestID == requestID }
    }

    var traceID: String { spans[0].traceID }

    /// Where the trace begins.
    func root() throws -> OTLPReceiver.Span {
        let roots = spans.filter { $0.parentSpanID == nil }
        try #require(roots.count == 1)
        return roots[0]
    }

    /// Whether it is one trace with one root, and every other span has its parent in it.
    var isWhole: Bool {
        let known = Set(spans.map(\.spanID))
        let others = spans.compactMap(\.parentSpanID)
        return Set(spans.map(\.traceID)).count == 1 && known.count == spans.count && others.count == spans.count - 1
            && others.allSatisfy(known.contains)
    }

    /// The services that have answered a request.
    var services: Set<String> { Set(spans.filter { $0.kind == 2 }.map(\.service)) }

    /// The kinds of what went wrong. That Redis has to be sent a script the first time is no trouble.
    var errors: [String] {
        spans.filter(\.isError).map { $0.attributes["error.type"] ?? $0.name }.filter { $0 != "NOSCRIPT" }
    }

    func children(of span: OTLPReceiver.Span) -> [OTLPReceiver.Span] {
        spans.filter { $0.parentSpanID == span.spanID }
    }

    /// The one span of kind server below a call, of the service that was called.
    func served(by service: String, below call: OTLPReceiver.Span) throws -> OTLPReceiver.Span {
        let served = children(of: call)
        try #require(served.count == 1 && served[0].service == service && served[0].kind == 2, "\(served)")
        return served[0]
    }

    /// The one call of another service below a span.
    func call(of peer: String, below span: OTLPReceiver.Span) throws -> OTLPReceiver.Span {
        let calls = children(of: span).filter { $0.attributes["peer.service"] == peer }
        try #require(calls.count == 1 && calls[0].kind == 3, "\(peer): \(calls)")
        return calls[0]
    }

    /// The statements or commands below a span.
    func calls(ofDatabase system: String, below span: OTLPReceiver.Span) -> [OTLPReceiver.Span] {
        children(of: span).filter { $0.attributes["db.system.name"] == system }
    }
}
