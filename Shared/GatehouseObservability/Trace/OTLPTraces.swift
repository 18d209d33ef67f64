import GatehouseBytes
import Tracing

/// Encodes spans in OTLP's JSON: the protobuf message `ExportTraceServiceRequest` by proto3's mapping, but with
/// identifiers in hexadecimal digits and enumerations as numbers (OTLP 1.5, "JSON Protobuf Encoding"). 64-bit integers
/// are texts.
enum OTLPTraces {
    /// Protobuf's `STATUS_CODE_ERROR`. An unset status means that no error was recorded.
    private static let errorStatus: Int64 = 2

    static func json(of spans: [FinishedSpan], from resource: TraceResource) -> [UInt8] {
        var json = JSONWriter(capacity: 256 + spans.count * 640)
        json.object { json in
            json.member("resourceSpans", [spans]) { json, spans in
                json.object { json in
                    json.member("resource") { json in
                        json.member("attributes", attributes(of: resource), write: write)
                    }
                    json.member("scopeSpans", [spans]) { json, spans in
                        json.object { json in
                            json.member("scope") { json in
                                json.member("name", "gatehouse")
                                json.member("version", resource.version)
                            }
                            json.member("spans", spans, write: write)
                        }
                    }
                }
            }
        }
        return json.bytes
    }

    private static func attributes(of resource: TraceResource) -> [FinishedSpan.Attribute] {
        [
            .init("service.name", .string(resource.service)),
            .init("service.namespace", .string("gatehouse")),
            .init("service.version", .string(resource.version)),
            .init("service.instance.id", .string(resource.instance)),
            .init("deployment.environment.name", .string(resource.environment)),
        ]
    }

    private static func write(_ json: inout JSONWriter, _ span: FinishedSpan) {
        json.object { json in
            json.member("traceId", span.traceID)
            json.member("spanId", span.spanID)
            if let parent = span.parentSpanID { json.member("parentSpanId", parent) }
            json.member("name", span.name)
            json.member("kind", span.kind.rawValue)
            json.member("startTimeUnixNano", String(span.time.start))
            json.member("endTimeUnixNano", String(span.time.end))
            json.member("attributes", span.attributes, write: write)
            if span.isError { json.member("status") { $0.member("code", errorStatus) } }
        }
    }

    private static func write(_ json: inout JSONWriter, _ attribute: FinishedSpan.Attribute) {
        json.object { json in
            json.member("key", attribute.key)
            json.member("value") { write(&$0, attribute.value) }
        }
    }

    /// Writes an `AnyValue`.
    private static func write(_ json: inout JSONWriter, _ value: SpanAttribute) {
        switch value {
        case .string(let text): json.member("stringValue", text)
        case .int32(let integer): json.member("intValue", String(integer))
        case .int64(let integer): json.member("intValue", String(integer))
        case .double(let number) where number.isFinite: json.member("doubleValue", number: number)
        case .double(let number): json.member("stringValue", "\(number)")
        case .bool(let flag): json.member("boolValue", flag)
        case .stringArray(let texts): write(&json, texts.map(SpanAttribute.string))
        case .int32Array(let integers): write(&json, integers.map(SpanAttribute.int32))
        case .int64Array(let integers): write(&json, integers.map(SpanAttribute.int64))
        case .doubleArray(let numbers): write(&json, numbers.map(SpanAttribute.double))
        case .boolArray(let flags): write(&json, flags.map(SpanAttribute.bool))
        default: json.member("stringValue", "\(value)")
        }
    }

    private static func write(_ json: inout JSONWriter, _ values: [SpanAttribute]) {
        json.member("arrayValue") { json in
            json.member("values", values) { json, value in json.object { write(&$0, value) } }
        }
    }

}

/// The process of the spans, with OpenTelemetry's attributes of resources.
public struct TraceResource: Sendable, Equatable {
    /// `service.name`, as in `tokens`.
    public var service: String
    /// `service.version`
    public var version: String
    /// `service.instance.id`: unique for each process.
    public var instance: String
    /// `deployment.environment.name`
    public var environment: String

    public init(service: String, version: String, instance: String, environment: String) {
        self.service = service
        self.version = version
        self.instance = instance
        self.environment = environment
    }
}
