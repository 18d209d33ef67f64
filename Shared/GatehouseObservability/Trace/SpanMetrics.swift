import GatehouseInstruments

/// Why a span never reached the collector: the label of the metric.
enum SpanDropReason: String, CaseIterable {
    case queueFull = "queue_full"
    case unreachable
    case busy
    case refused
    /// The collector accepted the batch without this span (`partialSuccess`).
    case rejected
    case shutdown
}

/// Counts the exported and the dropped spans of a process. Each counter begins at 0, so that a rate includes the first
/// loss.
struct SpanMetrics: Sendable {
    let exported: Counter
    private let dropped: [SpanDropReason: Counter]

    init(_ factory: any MetricsFactory) {
        exported = Counter(
            "gatehouse_trace_spans_exported_total", help: "Spans that the collector has taken.", factory: factory)
        dropped = Dictionary(
            uniqueKeysWithValues: SpanDropReason.allCases.map { reason in
                let counter = Counter(
                    "gatehouse_trace_spans_dropped_total", help: "Spans that never reached the collector, by reason.",
                    labels: [("reason", reason.rawValue)], factory: factory)
                return (reason, counter)
            })
    }

    func count(dropped spans: Int, _ reason: SpanDropReason) {
        if spans > 0 { dropped[reason]?.increment(by: spans) }
    }
}
