import ServiceContextModule

/// A span that is under way.
public struct SpanRecording: Sendable {
    /// The span's place: what a callee is told, whose own span is then a child of this one.
    public let context: TraceContext
    private let parent: RequestScope
    private let name: String
    private let kind: Span.Kind
    private let start: ContinuousClock.Instant
    private let spans: SpanBuffer

    /// Begins to ask somebody else on behalf of the request that is being served.
    ///
    /// - Returns: `nil` where none is, or its trace is not recorded: that costs one look at the task's context.
    public static func client(_ name: @autoclosure () -> String) -> SpanRecording? { begin(name(), .client) }

    /// Begins a part of serving the request that is being served.
    ///
    /// - Returns: as ``client(_:)``.
    static func begin(_ name: @autoclosure () -> String, _ kind: Span.Kind) -> SpanRecording? {
        guard let scope = ServiceContext.current?.requestScope, let spans = scope.spans else { return nil }
        return SpanRecording(
            context: scope.trace.child(), parent: scope, name: name(), kind: kind, start: .now,
            spans: spans)
    }

    /// Ends the span.
    ///
    /// - Parameter error: of which kind it was; `nil`: what was asked for was done.
    public func end(_ attributes: [SpanAttribute], error: String? = nil) {
        spans.offer(
            Span(
                traceID: context.traceID, spanID: context.spanID, parentSpanID: parent.trace.spanID, name: name,
                kind: kind, time: .endingNow(since: start),
                attributes: [.requestID(parent.requestID)] + attributes + (error.map { [.errorType($0)] } ?? []),
                isError: error != nil))
    }
}
