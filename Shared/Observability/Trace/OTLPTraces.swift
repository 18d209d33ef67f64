import Bytes

/// Encodes spans in OTLP's JSON: the protobuf message `ExportTraceServiceRequest` by proto3's mapping, but with
/// identifiers in hexadecimal digits and enumerations as numbers (OTLP 1.5, "JSON Protobuf Encoding"). 64-bit integers
/// are texts.
enum OTLPTraces {
    /// Protobuf's `STATUS_CODE_ERROR`. An unset status means that no error was recorded.
    private static let errorStatus: Int64 = 2

    static func json(of spans: [Span], from resource: TraceResource) -> [UInt8] {
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

    private static func attributes(of resource: TraceResource) -> [SpanAttribute] {
        [
            SpanAttribute("service.name", .text(resource.service)),
            SpanAttribute("service.namespace", .text("gatehouse")),
            SpanAttribute("service.version", .text(resource.version)),
            SpanAttribute("service.instance.id", .text(resource.instance)),
            SpanAttribute("deployment.environment.name", .text(resource.environment)),
        ]
    }

    private static func write(_ json: inout JSONWriter, _ span: Span) {
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

    private static func write(_ json: inout JSONWriter, _ attribute: SpanAttribute) {
        json.object { json in
            json.member("key", attribute.key)
            json.member("value") { json in
                switch attribute.value {
                case .text(let text): json.member("stringValue", text)
                case .integer(let integer): json.member("intValue", String(integer))
                }
            }
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
