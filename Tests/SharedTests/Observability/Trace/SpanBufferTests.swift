import Testing

@testable import GatehouseObservability

@Suite struct SpanBufferTests {
    @Test func keepsTheOldestUpToTheCapacityAndGivesThemInBatches() {
        var queue = SpanQueue(capacity: 7, batch: 3)
        #expect(
            (1...9).map { queue.offer(.example($0)) } == [
                .kept, .kept, .completesBatch, .kept, .kept, .kept, .kept, .dropped, .dropped,
            ])
        #expect(queue.count == 7)
        var batches: [[String]] = []
        while queue.count > 0 { batches.append(queue.take().map(\.name)) }
        #expect(batches == [["span 1", "span 2", "span 3"], ["span 4", "span 5", "span 6"], ["span 7"]])
        #expect(queue.take().isEmpty)
        #expect(queue.offer(.example()) == .kept)
    }

    @Test func countsWhatItDropsAndWakesForABatch() async {
        let metrics = PrometheusRegistry()
        let buffer = SpanBuffer(capacity: 5, batch: 2, metrics: metrics)
        for number in 0..<12 { buffer.offer(.example(number)) }
        #expect(metrics.exposition().contains(#"gatehouse_trace_spans_dropped_total{reason="queue_full"} 7"#))
        buffer.finish()
        var wakes = 0
        for await _ in buffer.wakes { wakes += 1 }
        #expect(wakes == 1)
    }

    @Test func takesSpansFromManyTasksAtOnce() async {
        let buffer = SpanBuffer(capacity: 10_000, batch: 100)
        await withDiscardingTaskGroup { group in
            for _ in 0..<10 {
                group.addTask { for number in 0..<1_000 { buffer.offer(.example(number)) } }
            }
        }
        var count = 0
        while case let batch = buffer.take(), !batch.isEmpty { count += batch.count }
        #expect(count == 10_000)
    }
}
