public import CoreMetrics

/// Tells how long something takes: how often it took up to so many seconds.
public struct DurationHistogram: Sendable {
    private let handler: any TimerHandler

    /// - Parameters:
    ///   - name: as it is exposed, with `_seconds`.
    ///   - help: what takes so long, in a sentence.
    ///   - labels: no value that a client chooses.
    ///   - factory: `nil`: the process'.
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
