public import ServiceContextModule

/// What the code that serves a request carries along, down to log lines and outgoing calls.
public struct RequestScope: Sendable {
    public let requestID: String
    /// The request's own span in its trace.
    public let trace: TraceContext
    /// Takes the spans of what is done for the request; `nil` where its trace is not recorded.
    public let spans: SpanBuffer?

    public init(requestID: String, trace: TraceContext, spans: SpanBuffer? = nil) {
        self.requestID = requestID
        self.trace = trace
        self.spans = spans
    }
}

private enum RequestScopeKey: ServiceContextKey {
    typealias Value = RequestScope
    static var nameOverride: String? { "gatehouse-request" }
}

extension ServiceContext {
    /// The request that is being served.
    public var requestScope: RequestScope? {
        get { self[RequestScopeKey.self] }
        set { self[RequestScopeKey.self] = newValue }
    }
}
