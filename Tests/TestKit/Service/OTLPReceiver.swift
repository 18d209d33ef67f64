public import Foundation
import Hummingbird
import HummingbirdCore
import NIOCore
import Synchronization

/// Receives traces by OTLP over HTTP, like a collector, and stores them for a test.
public final class OTLPReceiver: Sendable {
    /// A received span.
    public struct Span: Sendable {
        /// `service.name`
        public let service: String
        public let traceID: String
        public let spanID: String
        public let parentSpanID: String?
        public let name: String
        /// 2: server, 3: client.
        public let kind: Int
        public let duration: Duration
        public let isError: Bool
        /// Every value as text.
        public let attributes: [String: String]
        public var requestID: String? { attributes["gatehouse.request_id"] }
    }

    private let bodies = Mutex<[Data]>([])

    /// Runs `body` with a receiver whose endpoint is `url`.
    public static func run<Value: Sendable>(
        isolation: isolated (any Actor)? = #isolation, _ body: (OTLPReceiver, _ url: URL) async throws -> Value
    ) async throws -> Value {
        let receiver = OTLPReceiver()
        let router = Router()
        router.post("v1/traces") { request, _ in
            guard request.headers[.contentType] == "application/json" else { throw HTTPError(.unsupportedMediaType) }
            let bytes = Data(try await request.body.collect(upTo: 8 << 20).readableBytesView)
            // Refuse a body that a collector could not read. A test that waits for it then fails.
            guard (try? Self.spans(in: bytes)) != nil else { throw HTTPError(.badRequest) }
            receiver.bodies.withLock { $0.append(bytes) }
            return Response(
                status: .ok, headers: [.contentType: "application/json"],
                body: ResponseBody(byteBuffer: ByteBuffer(string: "{}")))
        }
        return try await withHTTPServer(router) { url in try await body(receiver, url) }
    }

    /// All spans received so far.
    public var spans: [Span] { bodies.withLock(\.self).flatMap { (try? Self.spans(in: $0)) ?? [] } }

    /// All bodies received so far, unparsed.
    public var text: String {
        bodies.withLock(\.self).map { String(decoding: $0, as: UTF8.self) }.joined(separator: "\n")
    }

    // MARK: The used parts of ExportTraceServiceRequest

    private struct Export: Decodable {
        var resourceSpans: [ResourceSpans]
    }

    private struct ResourceSpans: Decodable {
        var resource: Resource
        var scopeSpans: [ScopeSpans]
    }

    private struct Resource: Decodable {
        var attributes: [Attribute]
    }

    private struct ScopeSpans: Decodable {
        var spans: [WireSpan]
    }

    private struct Attribute: Decodable {
        var key: String
        var value: Value

        struct Value: Decodable {
            var stringValue: String?
            /// Proto3's JSON mapping encodes 64-bit integers as strings.
            var intValue: String?
            var doubleValue: Double?
            var boolValue: Bool?
            var arrayValue: List?

            var text: String {
                if let arrayValue { return "[\(arrayValue.values.map(\.text).joined(separator: ", "))]" }
                return stringValue ?? intValue ?? doubleValue.map { "\($0)" } ?? boolValue.map { "\($0)" } ?? ""
            }
        }

        struct List: Decodable {
            var values: [Value]
        }

        var text: String { value.text }
    }

    private struct WireSpan: Decodable {
        var traceId: String
        var spanId: String
        var parentSpanId: String?
        var name: String
        var kind: Int
        var startTimeUnixNano: String
        var endTimeUnixNano: String
        var attributes: [Attribute]
        var status: Status?

        struct Status: Decodable {
            var code: Int?
        }
    }

    private static func spans(in body: Data) throws -> [Span] {
        try JSONDecoder().decode(Export.self, from: body).resourceSpans.flatMap { group in
            let service = group.resource.attributes.first { $0.key == "service.name" }?.text ?? ""
            return try group.scopeSpans.flatMap(\.spans).map { try span($0, of: service) }
        }
    }

    private static func span(_ span: WireSpan, of service: String) throws -> Span {
        guard let start = UInt64(span.startTimeUnixNano), let end = UInt64(span.endTimeUnixNano), start <= end,
            span.traceId.utf8.count == 32, span.spanId.utf8.count == 16
        else { throw TestKitError("no span: \(span)") }
        return Span(
            service: service, traceID: span.traceId, spanID: span.spanId, parentSpanID: span.parentSpanId,
            name: span.name, kind: span.kind, duration: .nanoseconds(Int64(end - start)),
            isError: span.status?.code == 2,
            attributes: Dictionary(span.attributes.map { ($0.key, $0.text) }) { first, _ in first })
    }
}
