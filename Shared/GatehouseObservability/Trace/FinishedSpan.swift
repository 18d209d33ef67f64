import Foundation
import Tracing

/// A completed span in the terms of OpenTelemetry: one piece of work in a trace.
public struct FinishedSpan: Sendable, Equatable {
    /// The kind of the span; the numbers are OTLP's.
    public enum Kind: Int64, Sendable {
        /// Internal work.
        case `internal` = 1
        /// Answers a request.
        case server = 2
        /// Sends a request to a callee and waits for the response.
        case client = 3
        /// Sends a message that another process handles later.
        case producer = 4
        /// Handles such a message.
        case consumer = 5

        init(_ kind: SpanKind) {
            switch kind {
            case .internal: self = .internal
            case .server: self = .server
            case .client: self = .client
            case .producer: self = .producer
            case .consumer: self = .consumer
            }
        }
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
    public let attributes: [Attribute]
    /// Whether the work failed.
    public let isError: Bool

    public init(
        traceID: String, spanID: String, parentSpanID: String?, name: String, kind: Kind, time: SpanTime,
        attributes: [Attribute], isError: Bool
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

extension FinishedSpan {
    /// An attribute of a span, by OpenTelemetry's semantic conventions.
    ///
    /// Gatehouse's own spans have no other keys: none for a token, a password, an address of a person, a path or the
    /// parameter of a statement. A team's spans have its own keys (``bounded(_:)``).
    public struct Attribute: Sendable, Equatable {
        let key: String
        let value: SpanAttribute

        init(_ key: String, _ value: SpanAttribute) {
            self.key = key
            self.value = value
        }

        /// Connects a response's `X-Request-Id`, or a log line, to the trace.
        public static func requestID(_ id: String) -> Self { .init("gatehouse.request_id", .string(id)) }

        /// - Parameter method: as it was sent.
        public static func method(_ method: String) -> Self {
            .init("http.request.method", .string(knownMethods.contains(method) ? method : "_OTHER"))
        }

        /// The method for the names of spans. An unknown method is not repeated, because a client chose its text.
        public static func nameOfMethod(_ method: String) -> String { knownMethods.contains(method) ? method : "HTTP" }

        private static let knownMethods: Set<String> = [
            "CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "TRACE",
        ]

        /// - Parameter template: a route's path as it was registered, never the path of a request.
        public static func route(_ template: String) -> Self { .init("http.route", .string(template)) }
        /// - Parameter template: a callee's path without anything of this request.
        public static func urlTemplate(_ template: String) -> Self { .init("url.template", .string(template)) }
        public static func status(_ status: Int) -> Self { .init("http.response.status_code", .int(Int64(status))) }
        /// - Parameter version: of HTTP, `1.1` or `2`.
        public static func protocolVersion(_ version: String) -> Self {
            .init("network.protocol.version", .string(version))
        }
        /// The number of retries of a request.
        public static func resends(_ count: Int) -> Self { .init("http.request.resend_count", .int(Int64(count))) }
        /// The Gatehouse service that sent the request, or `none`.
        public static func caller(_ name: String) -> Self { .init("gatehouse.caller", .string(name)) }

        /// The callee: a service's name.
        public static func peer(_ name: String) -> Self { .init("peer.service", .string(name)) }
        /// The callee: a host's name or address.
        public static func server(_ host: String) -> Self { .init("server.address", .string(host)) }
        public static func serverPort(_ port: Int) -> Self { .init("server.port", .int(Int64(port))) }

        /// - Parameter name: `postgresql`, `redis`.
        public static func databaseSystem(_ name: String) -> Self { .init("db.system.name", .string(name)) }
        /// - Parameter name: `SELECT`, `EVALSHA`.
        public static func operation(_ name: String) -> Self { .init("db.operation.name", .string(name)) }
        /// - Parameter sql: the statement, with `$1` in place of a value.
        public static func statement(_ sql: String) -> Self { .init("db.query.text", .string(sql)) }

        /// - Parameter kind: of few different values: a status, an error's code.
        public static func errorType(_ kind: String) -> Self { .init(errorTypeKey, .string(kind)) }

        static let errorTypeKey = "error.type"
    }
}

extension FinishedSpan.Attribute {
    /// The most attributes of a span, and elements of an attribute.
    static let maximumCount = 32
    /// The most bytes of a key, and of a span's name.
    static let longestName = 128
    /// The most bytes of a text: any statement of Gatehouse fits.
    static let longestText = 4096

    /// The attributes that are exported, by key. Too many leave the error's type. Texts are cut, and a key that names a
    /// secret, a path or a query is left out: `HTTPClient` records the URLs of a team's own calls.
    static func bounded(_ attributes: SpanAttributes) -> [Self] {
        var all: [Self] = []
        attributes.forEach { key, value in
            guard key.utf8.count <= longestName, !urlKeys.contains(key), !Redaction.covers(key) else { return }
            all.append(Self(key, value))
        }
        all.sort { $0.key < $1.key }
        if all.count > maximumCount {
            let error = all.first { $0.key == errorTypeKey }
            all.removeLast(all.count - maximumCount)
            if let error, !all.contains(error) { all[maximumCount - 1] = error }
        }
        return all.map { Self($0.key, bounded($0.value)) }
    }

    private static let urlKeys: Set = ["url.full", "url.path", "url.query"]

    private static func bounded(_ value: SpanAttribute) -> SpanAttribute {
        switch value {
        case .string(let text): .string(text.cut(to: longestText))
        case .stringConvertible(let value): .string("\(value)".cut(to: longestText))
        case .stringArray(let texts): .stringArray(bounded(texts))
        case .stringConvertibleArray(let values): .stringArray(bounded(values.prefix(maximumCount).map { "\($0)" }))
        case .int32Array(let numbers): .int32Array(Array(numbers.prefix(maximumCount)))
        case .int64Array(let numbers): .int64Array(Array(numbers.prefix(maximumCount)))
        case .doubleArray(let numbers): .doubleArray(Array(numbers.prefix(maximumCount)))
        case .boolArray(let flags): .boolArray(Array(flags.prefix(maximumCount)))
        default: value
        }
    }

    /// All texts of an array share the space of one.
    private static func bounded(_ texts: [String]) -> [String] {
        texts.prefix(maximumCount).map { $0.cut(to: longestText / maximumCount) }
    }
}

extension String {
    /// The text, or the whole characters at its beginning within a number of bytes.
    func cut(to bytes: Int) -> String {
        // An index within a scalar is rounded down.
        utf8.count <= bytes ? self : String(self[..<utf8.index(startIndex, offsetBy: bytes)])
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
    /// - Parameters:
    ///   - start: nanoseconds since 1970.
    ///   - began: the same instant by a monotonic clock: the difference of two wall clock times might be negative.
    init(start: UInt64, since began: ContinuousClock.Instant) {
        self.init(start: start, end: start &+ Self.nanoseconds(since: began))
    }

    /// A time that ends now.
    static func endingNow(since began: ContinuousClock.Instant) -> SpanTime {
        endingNow(after: Int64(clamping: nanoseconds(since: began)))
    }

    private static func nanoseconds(since began: ContinuousClock.Instant) -> UInt64 {
        let (seconds, attoseconds) = began.duration(to: .now).components
        return UInt64(max(0, seconds * 1_000_000_000 + attoseconds / 1_000_000_000))
    }

    /// A time that ends now.
    ///
    /// - Parameter nanoseconds: how long it took.
    public static func endingNow(after nanoseconds: Int64) -> SpanTime {
        let now = UInt64(max(0, Date.now.timeIntervalSince1970 * 1e9))
        return SpanTime(start: now - min(now, UInt64(max(0, nanoseconds))), end: now)
    }
}
