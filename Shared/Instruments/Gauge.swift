public import CoreMetrics

/// Tells how much there is of something now.
public struct Gauge: Sendable {
    private let handler: any MeterHandler
    private let factory: any MetricsFactory

    /// - Parameters:
    ///   - name: as it is exposed, with its base unit where it has one: `_seconds`, `_bytes`.
    ///   - help: what it tells, in a sentence.
    ///   - labels: no value that a client chooses.
    ///   - factory: `nil`: the process'.
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

    /// It is exposed no more: what it tells of is gone.
    public func remove() { factory.destroyMeter(handler) }
}
