import CoreMetrics
import GatehouseInstruments
import Testing

@testable import GatehouseObservability

@Suite struct MetricsTests {
    @Test func writesPrometheusText() {
        let registry = PrometheusRegistry()
        let counter = CoreMetrics.Counter(label: "jobs.done", dimensions: [("kind", "a\"b\\c\nd")], factory: registry)
        counter.increment(by: 2)
        counter.increment()
        CoreMetrics.Counter(label: "jobs_done_total", dimensions: [("kind", "z")], factory: registry).increment()
        CoreMetrics.Gauge(label: "open", dimensions: [], factory: registry).record(3.5)
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
                # HELP process_cpu_seconds_total CPU time in user and system mode.
                # TYPE process_cpu_seconds_total counter

                """))
        #expect(text.contains("process_resident_memory_bytes "))
        #expect(text.contains("process_open_fds "))
        #expect(text.contains("process_start_time_seconds "))
    }

    @Test(
        "The memory limit is the smallest of the control groups'",
        arguments: [
            ([:], nil),
            (["/proc/self/cgroup": "0::/\n", "/sys/fs/cgroup/memory.max": "268435456\n"], 268_435_456),
            (["/proc/self/cgroup": "0::/\n", "/sys/fs/cgroup/memory.max": "max\n"], nil),
            (
                [
                    "/proc/self/cgroup": "0::/pods/one\n", "/sys/fs/cgroup/pods/memory.max": "1000000\n",
                    "/sys/fs/cgroup/pods/one/memory.max": "2000000\n",
                ], 1_000_000
            ),
            (
                [
                    "/proc/self/cgroup": "5:cpu,memory:/docker/abc\n4:pids:/docker/abc\n",
                    "/sys/fs/cgroup/memory/memory.limit_in_bytes": "134217728\n",
                ], 134_217_728
            ),
            (
                [
                    "/proc/self/cgroup": "5:memory:/\n",
                    "/sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
                ], nil
            ),
        ] as [([String: String], Int?)])
    func memoryLimit(files: [String: String], limit: Int?) {
        #expect(ProcessMetrics.memoryLimit { files[$0] } == limit)
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
                        CoreMetrics.Counter(label: "shared", factory: registry).increment()
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
        CoreMetrics.Gauge(label: "x_total", factory: registry).record(1)
        CoreMetrics.Counter(label: "x", factory: registry).increment()
        #expect(registry.exposition().contains("# TYPE x_total gauge\nx_total 1.0\n"))
    }

    @Test func forgetsGaugesThatAreDestroyedAndNothingThatCounts() {
        let registry = PrometheusRegistry()
        let meters = ["a", "b"].map { Meter(label: "set", dimensions: [("of", $0)], factory: registry) }
        let counter = CoreMetrics.Counter(label: "done", factory: registry)
        for meter in meters { meter.set(1) }
        counter.increment()
        meters[0].destroy()
        counter.destroy()
        let text = registry.exposition()
        #expect(text.contains("set{of=\"b\"} 1.0\n") && !text.contains("of=\"a\""))
        #expect(text.contains("done_total 1\n"))
    }

    @Test func tellsWhatEachMetricIs() {
        let registry = PrometheusRegistry()
        GatehouseInstruments.Counter("jobs_total", help: "Jobs\nof a \\kind.", labels: [("of", "a")], factory: registry)
            .increment(by: 2)
        _ = GatehouseInstruments.Counter("failures_total", help: "Failures.", factory: registry)
        let gauge = GatehouseInstruments.Gauge("waiting", help: "Who waits.", factory: registry)
        gauge.set(2)
        gauge.increment()
        DurationHistogram("wait_seconds", help: "A wait.", factory: registry).record(.milliseconds(3))
        var text = registry.exposition()
        #expect(text.contains("# HELP jobs_total Jobs\\nof a \\\\kind.\n# TYPE jobs_total counter\n"))
        #expect(text.contains("jobs_total{of=\"a\"} 2\n"))
        #expect(text.contains("# TYPE failures_total counter\nfailures_total 0\n"), "the step to 1 must be seen")
        #expect(text.contains("# HELP waiting Who waits.\n# TYPE waiting gauge\nwaiting 3.0\n"))
        #expect(text.contains("# HELP wait_seconds A wait.\n# TYPE wait_seconds histogram\n"))
        #expect(text.contains("wait_seconds_bucket{le=\"0.005\"} 1\n"))
        gauge.remove()
        text = registry.exposition()
        #expect(!text.contains("waiting"))
        let names = text.matches(of: #/# TYPE (\S+) /#).map(\.output.1)
        #expect(names == text.matches(of: #/# HELP (\S+) /#).map(\.output.1), "the process' own as well")
    }

    @Test func keepsWhatIsDeclaredAndNotYetExposed() {
        let registry = PrometheusRegistry()
        let family = GaugeFamily("unhealthy", help: "An address.", labels: ["address", "path"], factory: registry)
        let own = { registry.declarations.filter { !$0.name.hasPrefix("process_") } }
        #expect(own() == [MetricDeclaration("unhealthy", .gauge, labels: ["address", "path"], "An address.")])
        #expect(!registry.exposition().contains("unhealthy"))
        family.gauge("a:1", "/livez").set(1)
        #expect(registry.exposition().contains("unhealthy{address=\"a:1\",path=\"/livez\"} 1.0\n"))
        _ = GatehouseInstruments.Counter("done_total", help: "Jobs.", factory: registry)
        _ = DurationHistogram("wait_seconds", help: "A wait.", factory: registry)
        #expect(own().map(\.kind) == [.counter, .gauge, .histogram])
        #expect(registry.declarations.contains { $0.name == "process_memory_limit_bytes" })
    }

    @Test(arguments: [("a.b-c", "a_b_c"), ("9x", "_9x"), ("", "_"), ("ü", "_")])
    func spellsNames(_ label: String, _ name: String) {
        #expect(PrometheusName.make(label) == name)
    }
}
