/// What records traces in a process that does: who decides, and who takes the spans.
public struct Tracing: Sendable {
    public let sampler: TraceSampler
    public let spans: SpanBuffer

    public init(sampler: TraceSampler, spans: SpanBuffer) {
        self.sampler = sampler
        self.spans = spans
    }
}
