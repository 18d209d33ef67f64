public import ServiceContextModule

/// What the code that serves a request carries along, down to log lines and outgoing calls.
public struct RequestScope: Sendable {
    public let requestID: String
    public let trace: TraceContext

    public init(requestID: String, trace: TraceContext) {
        self.requestID = requestID
        self.trace = trace
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
