import Synchronization
public import Tracing

/// The tracer of a Gatehouse service: records the spans of swift-distributed-tracing for ``SpanExporter``.
///
/// ```swift
/// let items = try await withSpan("read items") { _ in try await store.items() }
/// ```
///
/// `<service> serve` makes it the process's tracer, so `withSpan` records a child of the span of the current request.
/// If the request's trace is not recorded, the span is not either. Outside of a request, `withSpan` begins a trace, and
/// the sampler decides. A span's name, kind, attributes and status are exported; its events and links are not.
public struct GatehouseTracer: Tracer {
    public let sampler: TraceSampler
    public let spans: SpanBuffer

    public init(sampler: TraceSampler, spans: SpanBuffer) {
        self.sampler = sampler
        self.spans = spans
    }

    public func startSpan<Instant: TracerInstant>(
        _ operationName: String, context: @autoclosure () -> ServiceContext, ofKind kind: SpanKind,
        at instant: @autoclosure () -> Instant, function: String, file fileID: String, line: UInt
    ) -> RecordingSpan {
        var context = context()
        let parent = context.traceContext
        if let parent, !parent.isSampled { return RecordingSpan(notRecordedIn: context) }
        let own =
            parent?.child()
            ?? TraceContext(
                isSampled: sampler.samples(parent: nil, isTrusted: true, random: .random(in: .min ... .max)))
        context.traceContext = own
        guard own.isSampled else { return RecordingSpan(notRecordedIn: context) }
        let start = instant().nanosecondsSinceEpoch
        let age = DefaultTracerClock.now.nanosecondsSinceEpoch.subtractingReportingOverflow(start)
        return RecordingSpan(
            operationName, kind, own, in: context, parentSpanID: parent?.spanID, start: start,
            since: .now - .nanoseconds(age.overflow ? 0 : Int64(clamping: age.partialValue)), spans)
    }

    /// Begins a span of the current trace, for a caller that cannot use `withSpan`.
    ///
    /// - Returns: `nil` if no trace is recorded. That costs one lookup in the task's context.
    func startChild(_ name: @autoclosure () -> String, _ kind: SpanKind) -> RecordingSpan? {
        guard let context = ServiceContext.current, context.isRecorded else { return nil }
        return startSpan(name(), context: context, ofKind: kind)
    }

    /// Begins the span of a request, whose place in the trace and sampling the server has decided.
    ///
    /// - Parameters:
    ///   - context: the request's context. Its trace context is that of the span.
    ///   - parentSpanID: the caller's span; `nil` if the trace begins here.
    /// - Returns: `nil` if the trace is not recorded.
    package func startServerSpan(
        in context: ServiceContext, parentSpanID: String?, since start: ContinuousClock.Instant
    ) -> RecordingSpan? {
        guard let own = context.traceContext, own.isSampled else { return nil }
        return RecordingSpan(
            "", .server, own, in: context, parentSpanID: parentSpanID, start: SpanTime.endingNow(since: start).start,
            since: start, spans)
    }

    public func forceFlush() { spans.wakeExporter() }

    // MARK: W3C Trace Context

    private static let traceparent = "traceparent"

    /// Reads `traceparent`. A missing or malformed field leaves the context as it is.
    public func extract<Carrier, Extract: Extractor>(
        _ carrier: Carrier, into context: inout ServiceContext, using extractor: Extract
    ) where Extract.Carrier == Carrier {
        guard let field = extractor.extract(key: Self.traceparent, from: carrier),
            let trace = TraceContext(traceparent: field)
        else { return }
        context.traceContext = trace
    }

    /// Writes `traceparent`, so that the callee's span is a child of the current one.
    public func inject<Carrier, Inject: Injector>(
        _ context: ServiceContext, into carrier: inout Carrier, using injector: Inject
    ) where Inject.Carrier == Carrier {
        guard let trace = context.traceContext else { return }
        injector.inject(trace.traceparent, forKey: Self.traceparent, into: &carrier)
    }
}

/// A span in progress. Of a trace that is not recorded it only has the context.
public struct RecordingSpan: Tracing.Span {
    public let context: ServiceContext
    private let recording: Recording?

    fileprivate init(notRecordedIn context: ServiceContext) {
        self.context = context
        recording = nil
    }

    fileprivate init(
        _ name: String, _ kind: SpanKind, _ own: TraceContext, in context: ServiceContext, parentSpanID: String?,
        start: UInt64, since began: ContinuousClock.Instant, _ spans: SpanBuffer
    ) {
        self.context = context
        recording = Recording(
            trace: own, parentSpanID: parentSpanID, kind: kind, start: start, began: began,
            requestID: context.requestID, spans: spans, name: name)
    }

    public var isRecording: Bool { recording?.state.withLock { !$0.hasEnded } ?? false }

    public var operationName: String {
        get { recording?.state.withLock(\.name) ?? "" }
        nonmutating set { recording?.state.withLock { $0.name = newValue } }
    }

    public var attributes: SpanAttributes {
        get { recording?.state.withLock(\.attributes) ?? [:] }
        nonmutating set { recording?.state.withLock { $0.attributes = newValue } }
    }

    public func setStatus(_ status: SpanStatus) {
        recording?.state.withLock { $0.isError = status.code == .error }
    }

    /// Records only the error's type, because its text and attributes may contain data of a request. An error type that
    /// was set before stays.
    public func recordError<Instant: TracerInstant>(
        _ error: any Error, attributes: SpanAttributes, at instant: @autoclosure () -> Instant
    ) {
        recording?.state.withLock { state in
            guard state.attributes.get(FinishedSpan.Attribute.errorTypeKey) == nil else { return }
            let kind = error is CancellationError ? "cancelled" : String(describing: type(of: error))
            state.attributes.set(FinishedSpan.Attribute.errorTypeKey, value: .string(kind))
        }
    }

    public func addEvent(_ event: SpanEvent) {}

    public func addLink(_ link: SpanLink) {}

    /// Keeps the span for the exporter. Only the first call has an effect.
    ///
    /// A span that ends now is measured by a monotonic clock: the difference of two wall clock times might be negative.
    public func end<Instant: TracerInstant>(at instant: @autoclosure () -> Instant) {
        guard let recording else { return }
        let before = DefaultTracerClock.now.nanosecondsSinceEpoch
        let end = instant().nanosecondsSinceEpoch
        let isNow = before <= end && end <= DefaultTracerClock.now.nanosecondsSinceEpoch
        recording.end(isNow ? nil : end)
    }
}

private final class Recording: Sendable {
    struct State {
        var name: String
        var attributes = SpanAttributes()
        var isError = false
        var hasEnded = false
    }

    let state: Mutex<State>
    private let trace: TraceContext
    private let parentSpanID: String?
    private let kind: SpanKind
    private let start: UInt64
    private let began: ContinuousClock.Instant
    private let requestID: String?
    private let spans: SpanBuffer

    init(
        trace: TraceContext, parentSpanID: String?, kind: SpanKind, start: UInt64, began: ContinuousClock.Instant,
        requestID: String?, spans: SpanBuffer, name: String
    ) {
        self.trace = trace
        self.parentSpanID = parentSpanID
        self.kind = kind
        self.start = start
        self.began = began
        self.requestID = requestID
        self.spans = spans
        state = Mutex(State(name: name))
    }

    /// - Parameter end: nanoseconds since 1970; `nil` is now.
    func end(_ end: UInt64?) {
        let ended: State? = state.withLock { state in
            guard !state.hasEnded else { return nil }
            state.hasEnded = true
            return state
        }
        guard let ended else { return }
        spans.offer(
            FinishedSpan(
                traceID: trace.traceID, spanID: trace.spanID, parentSpanID: parentSpanID,
                name: ended.name.cut(to: FinishedSpan.Attribute.longestName), kind: FinishedSpan.Kind(kind),
                time: end.map { SpanTime(start: start, end: $0) } ?? SpanTime(start: start, since: began),
                attributes: (requestID.map { [.requestID($0)] } ?? [])
                    + FinishedSpan.Attribute.bounded(ended.attributes),
                isError: ended.isError))
    }
}

extension Tracing.Span {
    /// Adds attributes of Gatehouse's own.
    package func record(_ added: FinishedSpan.Attribute...) { record(added) }

    /// Adds attributes of Gatehouse's own.
    package func record(_ added: [FinishedSpan.Attribute]) {
        updateAttributes { attributes in
            for attribute in added { attributes.set(attribute.key, value: attribute.value) }
        }
    }

    /// Records that the work has failed.
    ///
    /// - Parameter kind: of few different values: a status, an error's code.
    package func fail(_ kind: String) {
        record(.errorType(kind))
        setStatus(SpanStatus(code: .error))
    }
}

// MARK: The context of the current work

private enum TraceContextKey: ServiceContextKey {
    typealias Value = TraceContext
    static var nameOverride: String? { "traceparent" }
}

private enum RequestIDKey: ServiceContextKey {
    typealias Value = String
    static var nameOverride: String? { "gatehouse-request-id" }
}

extension ServiceContext {
    /// The current span: a request's own, or that of a `withSpan` below it.
    public var traceContext: TraceContext? {
        get { self[TraceContextKey.self] }
        set { self[TraceContextKey.self] = newValue }
    }

    /// The current request's identifier.
    public var requestID: String? {
        get { self[RequestIDKey.self] }
        set { self[RequestIDKey.self] = newValue }
    }

    /// Whether the current trace is recorded.
    package var isRecorded: Bool { traceContext?.isSampled == true }
}
