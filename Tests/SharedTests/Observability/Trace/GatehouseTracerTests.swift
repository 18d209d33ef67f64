import Testing
import Tracing

@testable import GatehouseObservability

@Suite("The tracer")
struct GatehouseTracerTests {
    private struct Fields: Extractor, Injector {
        func extract(key: String, from carrier: [String: String]) -> String? { carrier[key] }
        func inject(_ value: String, forKey key: String, into carrier: inout [String: String]) { carrier[key] = value }
    }

    private let tracer = GatehouseTracer(sampler: TraceSampler(percent: 100), spans: SpanBuffer())

    @Test("The callee of a span reads it as its parent")
    func propagation() throws {
        let field = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
        var context = ServiceContext.topLevel
        tracer.extract(["traceparent": field], into: &context, using: Fields())
        var sent: [String: String] = [:]
        tracer.withSpan("call", context: context, ofKind: .client) { span in
            tracer.inject(span.context, into: &sent, using: Fields())
            #expect(ServiceContext.current?.traceContext == span.context.traceContext)
        }
        let span = try #require(tracer.spans.take().first)
        #expect(span.traceID == "0af7651916cd43dd8448eb211c80319c" && span.parentSpanID == "b7ad6b7169203331")
        #expect(sent == ["traceparent": "00-\(span.traceID)-\(span.spanID)-01"])
    }

    @Test(
        "Without a valid field no trace is read, and without a trace no field is sent", arguments: ["", "junk", nil])
    func nothingToPropagate(field: String?) {
        var context = ServiceContext.topLevel
        tracer.extract(field.map { ["traceparent": $0] } ?? [:], into: &context, using: Fields())
        var sent: [String: String] = [:]
        tracer.inject(context, into: &sent, using: Fields())
        #expect(context.isEmpty && sent.isEmpty)
    }

    @Test("Work without a request begins a trace, and the sampler decides once", arguments: [0.0, 100])
    func roots(percent: Double) {
        let tracer = GatehouseTracer(sampler: TraceSampler(percent: percent), spans: SpanBuffer())
        tracer.withSpan("outer") { outer in
            tracer.withSpan("inner") { inner in
                #expect(outer.isRecording == (percent == 100) && inner.isRecording == outer.isRecording)
                #expect(inner.context.traceContext?.traceID == outer.context.traceContext?.traceID)
            }
        }
        let spans = tracer.spans.take()
        #expect(spans.map(\.name) == (percent == 100 ? ["inner", "outer"] : []))
        #expect(spans.first?.parentSpanID == spans.last?.spanID && spans.last?.parentSpanID == nil)
    }

    @Test("A trace that is not recorded keeps its context, and records nothing")
    func notRecorded() {
        var context = ServiceContext.topLevel
        context.traceContext = TraceContext()
        let span = tracer.startSpan("no", context: context)
        span.attributes["a"] = 1
        span.operationName = "no"
        span.end()
        #expect(!span.isRecording && span.attributes.isEmpty && span.operationName.isEmpty)
        #expect(span.context.traceContext == context.traceContext && tracer.spans.take().isEmpty)
    }

    @Test("A span ends once, and not before it began")
    func ends() {
        let span = tracer.startSpan("a", at: DefaultTracerClock.Timestamp(nanosecondsSinceEpoch: 9))
        span.end(at: DefaultTracerClock.Timestamp(nanosecondsSinceEpoch: 7))
        span.end()
        #expect(tracer.spans.take().map(\.time) == [SpanTime(start: 9, end: 9)] && !span.isRecording)
    }

    @Test("An error has a type and no text, and an earlier type stays")
    func errors() {
        struct Refused: Error { var text = "hush" }
        try? tracer.withSpan("a") { _ in throw Refused() }
        try? tracer.withSpan("a") { _ in throw CancellationError() }
        try? tracer.withSpan("a") { span in
            span.fail("timeout")
            throw Refused()
        }
        let spans = tracer.spans.take()
        #expect(spans.map(\.attributes) == ["Refused", "cancelled", "timeout"].map { [.errorType($0)] })
        #expect(spans.allSatisfy { $0.isError })
    }

    @Test("The attributes of a span are bounded")
    func bounds() throws {
        let long = String(repeating: "é", count: 5_000)
        tracer.withSpan(long) { span in
            for number in 0..<100 { span.attributes["a\(100 + number)"] = long }
            span.attributes["a0"] = SpanAttribute.stringArray(Array(repeating: long, count: 100))
            span.attributes[long] = 1
            span.fail("timeout")
        }
        let span = try #require(tracer.spans.take().first)
        #expect(span.name == String(repeating: "é", count: 64))
        #expect(span.attributes.map(\.key) == ["a0"] + (100..<130).map { "a\($0)" } + ["error.type"])
        #expect(span.attributes[0].value == .stringArray(Array(repeating: String(long.prefix(64)), count: 32)))
        #expect(span.attributes[1].value == .string(String(long.prefix(2_048))))
        #expect("aé".cut(to: 2) == "a")
    }

    @Test(
        "A key that names a secret or the parts of a URL is left out",
        arguments: ["url.full", "url.path", "url.query", "http.request.header.authorization", "user.password"])
    func secrets(key: String) {
        tracer.withSpan("a") { $0.attributes[key] = "hush" }
        #expect(tracer.spans.take().map(\.attributes) == [[]])
    }
}
