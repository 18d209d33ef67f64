/// One piece of work in a trace, done: what OpenTelemetry calls a span, under its names.
public struct Span: Sendable, Equatable {
    /// How the span stands to others; the numbers are OTLP's.
    public enum Kind: Int64, Sendable {
        /// Work of one's own.
        case `internal` = 1
        /// Answers a request.
        case server = 2
        /// Makes a request of somebody else and waits for the answer.
        case client = 3
    }

    /// 32 hexadecimal digits.
    public let traceID: String
    /// 16 hexadecimal digits.
    public let spanID: String
    /// `nil`: the trace begins here.
    public let parentSpanID: String?
    /// Of few different values: a method and a route's template, never a path.
    public let name: String
    public let kind: Kind
    public let time: SpanTime
    public let attributes: [SpanAttribute]
    /// Whether what was asked for was not done.
    public let isError: Bool

    public init(
        traceID: String, spanID: String, parentSpanID: String?, name: String, kind: Kind, time: SpanTime,
        attributes: [SpanAttribute], isError: Bool
    ) {
        self.traceID = traceID
        self.spanID = spanID
        self.parentSpanID = parentSpanID
        self.name = name
        self.kind = kind
        self.time = time
        self.attributes = attributes
        self.isError = isError
    }
}
