import Foundation
public import ServiceContextModule

/// A completed span in the terms of OpenTelemetry: one piece of work in a trace.
public struct Span: Sendable, Equatable {
    /// The kind of the span; the numbers are OTLP's.
    public enum Kind: Int64, Sendable {
        /// Internal work.
        case `internal` = 1
        /// Answers a request.
        case server = 2
        /// Sends a request to a callee and waits for the response.
        case client = 3
    }

    /// 32 hexadecimal digits.
    public let traceID: String
    /// 16 hexadecimal digits.
    public let spanID: String
    /// `nil`: the trace begins here.
    public let parentSpanID: String?
    /// A method and a route's template, never a path, so that the name has few different values.
    public let name: String
    public let kind: Kind
    public let time: SpanTime
    public let attributes: [SpanAttribute]
    /// Whether the work failed.
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

/// An attribute of a span, by OpenTelemetry's semantic conventions.
///
/// No other keys exist: none for a token, a password, an address of a person, a path or the parameter of a statement.
public struct SpanAttribute: Sendable, Equatable {
    enum Value: Sendable, Equatable {
        case text(String)
        case integer(Int64)
    }

    let key: String
    let value: Value

    init(_ key: String, _ value: Value) {
        self.key = key
        self.value = value
    }

    /// Connects a response's `X-Request-Id`, or a log line, to the trace.
    public static func requestID(_ id: String) -> Self { .init("gatehouse.request_id", .text(id)) }

    /// - Parameter method: as it was sent.
    public static func method(_ method: String) -> Self {
        .init("http.request.method", .text(knownMethods.contains(method) ? method : "_OTHER"))
    }

    /// The method for the names of spans. An unknown method is not repeated, because a client chose its text.
    public static func nameOfMethod(_ method: String) -> String { knownMethods.contains(method) ? method : "HTTP" }

    private static let knownMethods: Set<String> = [
        "CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "TRACE",
    ]

    /// - Parameter template: a route's path as it was registered, never the path of a request.
    public static func route(_ template: String) -> Self { .init("http.route", .text(template)) }
    /// - Parameter template: a callee's path without anything of this request.
    public static func urlTemplate(_ template: String) -> Self { .init("url.template", .text(template)) }
    public static func status(_ status: Int) -> Self { .init("http.response.status_code", .integer(Int64(status))) }
    /// - Parameter version: of HTTP, `1.1` or `2`.
    public static func protocolVersion(_ version: String) -> Self { .init("network.protocol.version", .text(version)) }
    /// The number of retries of a request.
    public static func resends(_ count: Int) -> Self { .init("http.request.resend_count", .integer(Int64(count))) }
    /// The Gatehouse service that sent the request, or `none`.
    public static func caller(_ name: String) -> Self { .init("gatehouse.caller", .text(name)) }

    /// The callee: a service's name.
    public static func peer(_ name: String) -> Self { .init("peer.service", .text(name)) }
    /// The callee: a host's name or address.
    public static func server(_ host: String) -> Self { .init("server.address", .text(host)) }
    public static func serverPort(_ port: Int) -> Self { .init("server.port", .integer(Int64(port))) }

    /// - Parameter name: `postgresql`, `redis`.
    public static func databaseSystem(_ name: String) -> Self { .init("db.system.name", .text(name)) }
    /// - Parameter name: `SELECT`, `EVALSHA`.
    public static func operation(_ name: String) -> Self { .init("db.operation.name", .text(name)) }
    /// - Parameter sql: the statement, with `$1` in place of a value.
    public static func statement(_ sql: String) -> Self { .init("db.query.text", .text(sql)) }

    /// - Parameter kind: of few different values: a status, an error's code.
    public static func errorType(_ kind: String) -> Self { .init("error.type", .text(kind)) }
}

/// A span in progress.
public struct SpanRecording: Sendable {
    /// The span's context, which is sent to a callee. The callee's own span is then a child of this one.
    public let context: TraceContext
    private let parent: RequestScope
    private let name: String
    private let kind: Span.Kind
    private let start: ContinuousClock.Instant
    private let spans: SpanBuffer

    /// Begins the span of a call to another service on behalf of the current request.
    ///
    /// - Returns: `nil` without a current request, or if its trace is not recorded. That costs one lookup in the task's
    ///   context.
    public static func client(_ name: @autoclosure () -> String) -> SpanRecording? { begin(name(), .client) }

    /// Begins the span of a part of serving the current request.
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
    /// - Parameter error: the kind of the error; `nil` after success.
    public func end(_ attributes: [SpanAttribute], error: String? = nil) {
        spans.offer(
            Span(
                traceID: context.traceID, spanID: context.spanID, parentSpanID: parent.trace.spanID, name: name,
                kind: kind, time: .endingNow(since: start),
                attributes: [.requestID(parent.requestID)] + attributes + (error.map { [.errorType($0)] } ?? []),
                isError: error != nil))
    }
}

/// The start and end of a span, in nanoseconds since 1970.
public struct SpanTime: Sendable, Equatable {
    public let start: UInt64
    public let end: UInt64

    /// - Parameters:
    ///   - start: nanoseconds since 1970.
    ///   - end: the same; not before `start`.
    public init(start: UInt64, end: UInt64) {
        self.start = start
        self.end = max(start, end)
    }

    /// A time that ends now.
    ///
    /// The duration comes from a monotonic clock: the difference of two wall clock times might be negative.
    public static func endingNow(since start: ContinuousClock.Instant) -> SpanTime {
        let (seconds, attoseconds) = start.duration(to: .now).components
        return endingNow(after: seconds * 1_000_000_000 + attoseconds / 1_000_000_000)
    }

    /// A time that ends now.
    ///
    /// - Parameter nanoseconds: how long it took.
    public static func endingNow(after nanoseconds: Int64) -> SpanTime {
        let now = UInt64(max(0, Date.now.timeIntervalSince1970 * 1e9))
        return SpanTime(start: now - min(now, UInt64(max(0, nanoseconds))), end: now)
    }
}

/// The parts that record traces: the sampler decides, and the buffer collects the spans.
public struct Tracing: Sendable {
    public let sampler: TraceSampler
    public let spans: SpanBuffer

    public init(sampler: TraceSampler, spans: SpanBuffer) {
        self.sampler = sampler
        self.spans = spans
    }
}

/// The context of the current request for log lines and outgoing calls.
public struct RequestScope: Sendable {
    public let requestID: String
    /// The request's own span in its trace.
    public let trace: TraceContext
    /// Collects the spans of the request; `nil` if its trace is not recorded.
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
    /// The current request.
    public var requestScope: RequestScope? {
        get { self[RequestScopeKey.self] }
        set { self[RequestScopeKey.self] = newValue }
    }
}
