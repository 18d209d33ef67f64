import CoreMetrics
import GatehouseInstruments
import Synchronization

/// Collects the spans of a process. Any thread may offer a span, and never waits. When the buffer is full, new spans
/// are dropped and counted.
public final class SpanBuffer: Sendable {
    /// The most spans that wait: about 2 MB.
    static let capacity = 2048
    /// Spans of one request to the collector.
    static let batch = 512

    /// Yields when a batch is complete, and at each interval of the exporter. Elements that are not consumed are
    /// merged.
    let wakes: AsyncStream<Void>
    private let wake: AsyncStream<Void>.Continuation
    private let queue: Mutex<SpanQueue>
    private let metrics: SpanMetrics

    public convenience init() {
        self.init(capacity: Self.capacity, batch: Self.batch)
    }

    init(capacity: Int, batch: Int, metrics: any MetricsFactory = MetricsSystem.factory) {
        self.metrics = SpanMetrics(metrics)
        (wakes, wake) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
        queue = Mutex(SpanQueue(capacity: capacity, batch: batch))
    }

    /// Keeps a span until it is sent, if there is room.
    public func offer(_ span: FinishedSpan) {
        switch queue.withLock({ $0.offer(span) }) {
        case .kept: break
        case .completesBatch: wake.yield()
        case .dropped: metrics.count(dropped: 1, .queueFull)
        }
    }

    func take() -> [FinishedSpan] { queue.withLock { $0.take() } }

    func wakeExporter() { wake.yield() }

    /// Ends `wakes`, after which the exporter sends the remaining spans.
    func finish() { wake.finish() }
}

/// Spans that wait to be sent, the oldest first, up to a maximum.
struct SpanQueue: Sendable {
    /// The result of offering a span.
    enum Offer: Equatable {
        case kept
        /// With this one there are enough for a batch.
        case completesBatch
        case dropped
    }

    let capacity: Int
    let batch: Int
    private var spans: [FinishedSpan] = []

    init(capacity: Int, batch: Int) {
        self.capacity = capacity
        self.batch = batch
    }

    var count: Int { spans.count }

    /// If the buffer is full, drops the new span: parts of the traces of the older spans may have been sent already.
    mutating func offer(_ span: FinishedSpan) -> Offer {
        guard spans.count < capacity else { return .dropped }
        spans.append(span)
        return spans.count == batch ? .completesBatch : .kept
    }

    /// Takes the oldest spans, at most one batch.
    mutating func take() -> [FinishedSpan] {
        guard spans.count > batch else {
            defer { spans = [] }
            return spans
        }
        defer { spans.removeFirst(batch) }
        return Array(spans.prefix(batch))
    }
}
