import CoreMetrics
import Testing

@testable import Observability

@Suite struct MetricsTests {
    @Test func writesPrometheusText() {
        let registry = PrometheusRegistry()
        let counter = Counter(label: "jobs.done", dimensions: [("kind", "a\"b\\c\nd")], factory: registry)
        counter.increment(by: 2)
        counter.increment()
        Counter(label: "jobs_done_total", dimensions: [("kind", "z")], factory: registry).increment()
        Gauge(label: "open", dimensions: [], factory: registry).record(3.5)
        let meter = Meter(label: "level", dimensions: [], factory: registry)
        meter.set(5)
        meter.decrement(by: 2)
        FloatingPointCounter(label: "spent", factory: registry).increment(by: 0.5)
        let text = registry.exposition()
        #expect(
            text.hasPrefix(
                """
                # TYPE jobs_done_total counter
                jobs_done_total{kind="a\\"b\\\\c\\nd"} 3
                jobs_done_total{kind="z"} 1
                # TYPE level gauge
                level 3.0
                # TYPE open gauge
                open 3.5
                # TYPE spent_total counter
                spent_total 0.5
                # TYPE process_cpu_seconds_total counter

                """))
        #expect(text.contains("process_resident_memory_bytes "))
        #expect(text.contains("process_open_fds "))
    }

    @Test func distributesOverBuckets() {
        let registry = PrometheusRegistry()
        let timer = Timer(label: "wait", dimensions: [("a", "b")], factory: registry)
        for milliseconds in [0.4, 0.5, 0.6, 30_000, 40_000] {
            timer.recordNanoseconds(Int64(milliseconds * 1e6))
        }
        let text = registry.exposition()
        #expect(text.contains("# TYPE wait_seconds histogram\n"))
        #expect(text.contains("wait_seconds_bucket{a=\"b\",le=\"0.0005\"} 2\n"))
        #expect(text.contains("wait_seconds_bucket{a=\"b\",le=\"0.001\"} 3\n"))
        #expect(text.contains("wait_seconds_bucket{a=\"b\",le=\"30.0\"} 4\n"))
        #expect(text.contains("wait_seconds_bucket{a=\"b\",le=\"+Inf\"} 5\n"))
        #expect(text.contains("wait_seconds_count{a=\"b\"} 5\n"))
        Recorder(label: "sizes", factory: registry).record(7)
        #expect(registry.exposition().contains("sizes_bucket{le=\"10.0\"} 1\n"))
    }

    @Test func sharesOneMetricPerName() async {
        let registry = PrometheusRegistry()
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    for _ in 0..<1000 {
                        Counter(label: "shared", factory: registry).increment()
                        FloatingPointCounter(label: "sum", factory: registry).increment(by: 1)
                    }
                }
            }
        }
        #expect(registry.exposition().contains("shared_total 8000\n"))
        #expect(registry.exposition().contains("sum_total 8000.0\n"))
    }

    @Test func survivesTwoKindsUnderOneName() {
        let registry = PrometheusRegistry()
        Gauge(label: "x_total", factory: registry).record(1)
        Counter(label: "x", factory: registry).increment()
        #expect(registry.exposition().contains("# TYPE x_total gauge\nx_total 1.0\n"))
    }

    @Test func forgetsGaugesThatAreDestroyedAndNothingThatCounts() {
        let registry = PrometheusRegistry()
        let meters = ["a", "b"].map { Meter(label: "set", dimensions: [("of", $0)], factory: registry) }
        let counter = Counter(label: "done", factory: registry)
        for meter in meters { meter.set(1) }
        counter.increment()
        meters[0].destroy()
        counter.destroy()
        let text = registry.exposition()
        #expect(text.contains("set{of=\"b\"} 1.0\n") && !text.contains("of=\"a\""))
        #expect(text.contains("done_total 1\n"))
    }

    @Test(arguments: [("a.b-c", "a_b_c"), ("9x", "_9x"), ("", "_"), ("ü", "_")])
    func spellsNames(_ label: String, _ name: String) {
        #expect(PrometheusName.make(label) == name)
    }
}
