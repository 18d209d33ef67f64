public import CoreMetrics

/// Counts what happens. It begins at 0 when it is made: make it before the first event, since a rate does not see the
/// step from nothing to 1.
public struct Counter: Sendable {
    private let handler: any CounterHandler

    /// - Parameters:
    ///   - name: as it is exposed, with `_total`.
    ///   - help: what it counts, in a sentence.
    ///   - labels: no value that a client chooses.
    ///   - factory: `nil`: the process'.
    public init(
        _ name: String, help: String, labels: [(String, String)] = [], factory: (any MetricsFactory)? = nil
    ) {
        handler = instrumentFactory(factory, name, help).makeCounter(label: name, dimensions: labels)
    }

    public func increment() { handler.increment(by: 1) }

    /// - Parameter amount: 0 or more.
    public func increment(by amount: Int) { handler.increment(by: Int64(amount)) }
}
