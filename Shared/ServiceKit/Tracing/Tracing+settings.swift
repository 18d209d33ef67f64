import Observability
import Settings

extension Tracing {
    /// `nil` where no traces are to be recorded.
    init?(_ settings: TraceSettings) {
        guard settings.endpoint != nil else { return nil }
        self.init(sampler: TraceSampler(percent: settings.percent), spans: SpanBuffer())
    }
}
