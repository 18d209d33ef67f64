/// Spans that wait to be sent, the oldest first, no more than there is room for.
struct SpanQueue: Sendable {
    /// What became of a span.
    enum Offer: Equatable {
        case kept
        /// With this one there are enough for a batch.
        case completesBatch
        case dropped
    }

    let capacity: Int
    let batch: Int
    private var spans: [Span] = []

    init(capacity: Int, batch: Int) {
        self.capacity = capacity
        self.batch = batch
    }

    var count: Int { spans.count }

    /// Drops the new span where there is no room: what waits is older, and parts of the same traces were sent already.
    mutating func offer(_ span: Span) -> Offer {
        guard spans.count < capacity else { return .dropped }
        spans.append(span)
        return spans.count == batch ? .completesBatch : .kept
    }

    /// Takes the oldest spans, one batch at the most.
    mutating func take() -> [Span] {
        guard spans.count > batch else {
            defer { spans = [] }
            return spans
        }
        defer { spans.removeFirst(batch) }
        return Array(spans.prefix(batch))
    }
}
