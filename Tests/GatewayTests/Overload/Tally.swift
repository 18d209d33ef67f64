import NIOCore
import Synchronization

/// How a load's requests ended.
final class Tally: Sendable, CustomStringConvertible {
    /// Milliseconds to each answer, by what it was.
    private let latencies = Mutex<[String: [Double]]>([:])

    func count(_ outcome: String, after latency: TimeAmount = .zero) {
        latencies.withLock { $0[outcome, default: []].append(Double(latency.nanoseconds) / 1e6) }
    }

    var outcomes: Set<String> { latencies.withLock { Set($0.keys) } }

    /// Each outcome with its number, and the milliseconds that half and all but a hundredth of them took at most.
    var description: String {
        let latencies = latencies.withLock { $0 }
        return latencies.sorted { $0.key < $1.key }.map { outcome, times in
            let sorted = times.sorted()
            func within(_ percent: Int) -> Int { Int(sorted[(sorted.count - 1) * percent / 100].rounded(.up)) }
            return "\(times.count) × \(outcome) (p50 \(within(50)) ms, p99 \(within(99)) ms)"
        }.joined(separator: ", ")
    }
}
