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
        let declaration = MetricDeclaration(name, .counter, labels: labels.map(\.0), help)
        handler = declaration.factory(factory).makeCounter(label: name, dimensions: labels)
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
        let declaration = MetricDeclaration(name, .gauge, labels: labels.map(\.0), help)
        self.factory = declaration.factory(factory)
        handler = self.factory.makeMeter(label: name, dimensions: labels)
    }

    public func set(_ value: Double) { handler.set(value) }

    public func set(_ value: some BinaryInteger) { handler.set(Int64(value)) }

    public func increment() { handler.increment(by: 1) }

    public func decrement() { handler.decrement(by: 1) }

    /// Stops exposing the gauge, because the measured thing no longer exists.
    public func remove() { factory.destroyMeter(handler) }
}

/// Gauges of one name that are not exposed from the start, because their labels or their first value are not known yet.
public struct GaugeFamily: Sendable {
    private let declaration: MetricDeclaration
    private let factory: any MetricsFactory

    /// - Parameters:
    ///   - name: as it is exposed, with its base unit where it has one: `_seconds`, `_bytes`.
    ///   - help: what each gauge measures, in a sentence.
    ///   - labels: the labels' names.
    ///   - factory: `nil` uses the process' factory.
    public init(_ name: String, help: String, labels: [String] = [], factory: (any MetricsFactory)? = nil) {
        declaration = MetricDeclaration(name, .gauge, labels: labels, help)
        self.factory = declaration.factory(factory)
    }

    /// Exposes a gauge.
    ///
    /// - Parameter values: of the labels, in their order; none that a client chooses.
    public func gauge(_ values: String...) -> Gauge {
        let labels = Array(zip(declaration.labels, values))
        return Gauge(declaration.name, help: declaration.help, labels: labels, factory: factory)
    }
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
        let declaration = MetricDeclaration(name, .histogram, labels: labels.map(\.0), help)
        handler = declaration.factory(factory).makeTimer(label: name, dimensions: labels)
    }

    public func record(nanoseconds: Int64) { handler.recordNanoseconds(nanoseconds) }

    public func record(_ duration: Duration) {
        let (seconds, attoseconds) = duration.components
        record(nanoseconds: seconds * 1_000_000_000 + attoseconds / 1_000_000_000)
    }
}

/// Creates metrics: the process' factory, or a test's own.
public typealias MetricsFactory = CoreMetrics.MetricsFactory

/// What all metrics of one name have in common.
public struct MetricDeclaration: Sendable, Equatable, Encodable {
    public enum Kind: String, Sendable, Encodable {
        case counter
        case gauge
        case histogram
    }

    /// As it was declared. A registry may have to spell it otherwise.
    public let name: String
    public let kind: Kind
    /// The labels' names.
    public let labels: [String]
    /// A sentence.
    public let help: String

    public init(_ name: String, _ kind: Kind, labels: [String] = [], _ help: String) {
        self.name = name
        self.kind = kind
        self.labels = labels
        self.help = help
    }

    /// The factory that creates the metric, after it was given the declaration.
    func factory(_ given: (any MetricsFactory)?) -> any MetricsFactory {
        let factory = given ?? MetricsSystem.factory
        (factory as? any DeclaringMetricsFactory)?.declare(self)
        return factory
    }
}

/// A factory that keeps the declaration of each metric, and exposes the help texts.
///
/// swift-metrics does not support help texts. Counters, gauges and histograms are declared only with this module, so
/// that each has one.
public protocol DeclaringMetricsFactory: MetricsFactory {
    func declare(_ declaration: MetricDeclaration)
}
