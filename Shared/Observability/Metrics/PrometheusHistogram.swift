import Atomics
import CoreMetrics

/// A distribution over fixed buckets.
final class PrometheusHistogram: TimerHandler, RecorderHandler, PrometheusMetric {
    /// Seconds, from half a millisecond to the longest wait of a caller.
    static let durations: [Double] = [
        0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30,
    ]
    static let counts: [Double] = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 10_000, 100_000, 1_000_000]

    private let bounds: [Double]
    /// One more than bounds: what lies above all of them.
    private let buckets: [ManagedAtomic<Int>]
    private let sum = AtomicDouble()

    init(bounds: [Double]) {
        self.bounds = bounds
        buckets = (0...bounds.count).map { _ in ManagedAtomic(0) }
    }

    func recordNanoseconds(_ duration: Int64) {
        record(Double(duration) / 1e9)
    }

    func record(_ value: Int64) {
        record(Double(value))
    }

    func record(_ value: Double) {
        let index = bounds.firstIndex { value <= $0 } ?? bounds.count
        buckets[index].wrappingIncrement(ordering: .relaxed)
        sum.add(value)
    }

    func write(name: String, dimensions: String, to text: inout String) {
        let prefix = dimensions.isEmpty ? "" : dimensions + ","
        var count = 0
        for (index, bucket) in buckets.enumerated() {
            count += bucket.load(ordering: .relaxed)
            let bound = index < bounds.count ? "\(bounds[index])" : "+Inf"
            text += "\(name)_bucket{\(prefix)le=\"\(bound)\"} \(count)\n"
        }
        text += "\(name)_sum\(braced(dimensions)) \(sum.get())\n"
        text += "\(name)_count\(braced(dimensions)) \(count)\n"
    }
}
