import GatehouseObservability
import Testing

@Suite struct TraceContextTests {
    private let trace = "0af7651916cd43dd8448eb211c80319c"
    private let span = "b7ad6b7169203331"

    @Test func continuesAValidTrace() throws {
        let context = try #require(TraceContext(traceparent: "00-\(trace)-\(span)-01"))
        #expect(context.traceID == trace)
        #expect(context.spanID == span)
        #expect(context.isSampled)
        let child = context.child()
        #expect(child.traceID == trace)
        #expect(child.spanID != span)
        #expect(child.isSampled)
        #expect(TraceContext(traceparent: child.traceparent) == child)
    }

    @Test func readsLaterVersions() {
        #expect(TraceContext(traceparent: "01-\(trace)-\(span)-00-more") != nil)
        #expect(TraceContext(traceparent: "cc-\(trace)-\(span)-03")?.isSampled == true)
    }

    @Test func refusesEverythingElse() {
        let zeroTrace = String(repeating: "0", count: 32)
        let zeroSpan = String(repeating: "0", count: 16)
        for field in [
            "", "00", "00-\(trace)-\(span)", "00-\(trace)-\(span)-1", "00-\(trace)-\(span)-01-more",
            "00-\(trace)-\(span)-011", "ff-\(trace)-\(span)-01", "0-\(trace)-\(span)-01", "00-\(zeroTrace)-\(span)-01",
            "00-\(trace)-\(zeroSpan)-01", "00-\(trace.uppercased())-\(span)-01", "00-\(trace)-\(span)-0g",
            "00-\(trace.dropLast())-\(span)-01", "00_\(trace)_\(span)_01", " 00-\(trace)-\(span)-01",
            "01-\(trace)-\(span)-01x", "00-\(trace.dropLast())g-\(span)-01",
        ] {
            #expect(TraceContext(traceparent: field) == nil, "\(field)")
        }
    }

    @Test func beginsDistinctTraces() {
        let contexts = (0..<1000).map { _ in TraceContext() }
        #expect(Set(contexts.map(\.traceID)).count == 1000)
        #expect(contexts.allSatisfy { TraceContext(traceparent: $0.traceparent) == $0 })
    }
}
