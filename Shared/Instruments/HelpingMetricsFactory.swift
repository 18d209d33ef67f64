public import CoreMetrics

/// Makes metrics: that of the process, or a test's own.
public typealias MetricsFactory = CoreMetrics.MetricsFactory

/// A factory that shows what each metric is.
///
/// swift-metrics has no place for it. Counters, gauges and histograms are declared with this module alone, so that none
/// is without a text.
public protocol HelpingMetricsFactory: MetricsFactory {
    /// - Parameters:
    ///   - name: of all metrics that differ in their labels alone.
    ///   - text: a sentence.
    func help(_ name: String, _ text: String)
}

/// The factory that makes a metric, once it is told what the metric is.
func instrumentFactory(_ given: (any MetricsFactory)?, _ name: String, _ help: String) -> any MetricsFactory {
    let factory = given ?? MetricsSystem.factory
    (factory as? any HelpingMetricsFactory)?.help(name, help)
    return factory
}
