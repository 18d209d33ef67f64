public import CoreMetrics

/// Counts events. It begins at 0 when it is created. Create it before the first event, because a rate misses the step
/// from no value to 1.
public struct Counter: Sendable {
    private let handler: any CounterHandler

    /// - Parameters:
    ///   - name: as it is exposed, with `_total`.
    ///   - help: what it counts, in a sentence.
    ///   - labels: no value that a client chooses.
    ///   - factory: `nil` uses the process' factory.
    public init(
        _ name: String, help: String, labels: [(String, String)] = [], factory: (any MetricsFactory)? = nil
    ) {
        handler = instrumentFactory(factory, name, help).makeCounter(label: name, dimensions: labels)
    }

    public func increment() { handler.increment(by: 1) }

    /// - Parameter amount: 0 or more.
    public func increment(by amount: Int) { handler.increment(by: Int64(amount)) }
}

/// Measures a current amount.
public struct Gauge: Sendable {
    private let handler: any MeterHandler
    private let factory: any MetricsFactory

    /// - Parameters:
    ///   - name: as it is exposed, with its base unit where it has one: `_seconds`, `_bytes`.
    ///   - help: what it measures, in a sentence.
    ///   - labels: no value that a client chooses.
    ///   - factory: `nil` uses the process' factory.
    public init(
        _ name: String, help: String, labels: [(String, String)] = [], factory: (any MetricsFactory)? = nil
    ) {
        self.factory = instrumentFactory(factory, name, help)
        handler = self.factory.makeMeter(label: name, dimensions: labels)
    }

    public func set(_ value: Double) { handler.set(value) }

    public func set(_ value: some BinaryInteger) { handler.set(Int64(value)) }

    public func increment() { handler.increment(by: 1) }

    public func decrement() { handler.decrement(by: 1) }

    /// Stops exposing the gauge, because the measured thing no longer exists.
    public func remove() { factory.destroyMeter(handler) }
}

/// Measures durations as a histogram.
public struct DurationHistogram: Sendable {
    private let handler: any TimerHandler

    /// - Parameters:
    ///   - name: as it is exposed, with `_seconds`.
    ///   - help: what the duration covers, in a sentence.
    ///   - labels: no value that a client chooses.
    ///   - factory: `nil` uses the process' factory.
    public init(
        _ name: String, help: String, labels: [(String, String)] = [], factory: (any MetricsFactory)? = nil
    ) {
        handler = instrumentFactory(factory, name, help).makeTimer(label: name, dimensions: labels)
    }

    public func record(nanoseconds: Int64) { handler.recordNanoseconds(nanoseconds) }

    public func record(_ duration: Duration) {
        let (seconds, attoseconds) = duration.components
        record(nanoseconds: seconds * 1_000_000_000 + attoseconds / 1_000_000_000)
    }
}

/// Creates metrics: the process' factory, or a test's own.
public typealias MetricsFactory = CoreMetrics.MetricsFactory

/// A factory that exposes a help text with each metric.
///
/// swift-metrics does not support help texts. Counters, gauges and histograms are declared only with this module, so
/// that each has one.
public protocol HelpingMetricsFactory: MetricsFactory {
    /// - Parameters:
    ///   - name: the name of all metrics that differ only in their labels.
    ///   - text: a sentence.
    func help(_ name: String, _ text: String)
}

/// The factory that creates a metric, after it was given the metric's help text.
func instrumentFactory(_ given: (any MetricsFactory)?, _ name: String, _ help: String) -> any MetricsFactory {
    let factory = given ?? MetricsSystem.factory
    (factory as? any HelpingMetricsFactory)?.help(name, help)
    return factory
}
