import Atomics
public import CoreMetrics
public import GatehouseInstruments
import Synchronization

final class PrometheusCounter: CounterHandler, PrometheusMetric {
    private let value = Atomic<Int64>(0)

    func increment(by amount: Int64) {
        value.wrappingAdd(amount, ordering: .relaxed)
    }

    func reset() {
        value.store(0, ordering: .relaxed)
    }

    func write(name: String, dimensions: String, to text: inout String) {
        text += "\(name)\(braced(dimensions)) \(value.load(ordering: .relaxed))\n"
    }
}

final class PrometheusFloatingPointCounter: FloatingPointCounterHandler, PrometheusMetric {
    private let value = AtomicDouble()

    func increment(by amount: Double) {
        value.add(amount)
    }

    func reset() {
        value.set(0)
    }

    func write(name: String, dimensions: String, to text: inout String) {
        text += "\(name)\(braced(dimensions)) \(value.get())\n"
    }
}

final class PrometheusGauge: MeterHandler, RecorderHandler, PrometheusMetric {
    private let value = AtomicDouble()

    func set(_ value: Int64) { self.value.set(Double(value)) }
    func set(_ value: Double) { self.value.set(value) }
    func record(_ value: Int64) { self.value.set(Double(value)) }
    func record(_ value: Double) { self.value.set(value) }
    func increment(by amount: Double) { value.add(amount) }
    func decrement(by amount: Double) { value.add(-amount) }

    func write(name: String, dimensions: String, to text: inout String) {
        text += "\(name)\(braced(dimensions)) \(value.get())\n"
    }
}

/// A floating-point number in an atomic word.
struct AtomicDouble: ~Copyable {
    private let bits = Atomic<UInt64>(0)

    func get() -> Double {
        Double(bitPattern: bits.load(ordering: .relaxed))
    }

    func set(_ value: Double) {
        bits.store(value.bitPattern, ordering: .relaxed)
    }

    func add(_ amount: Double) {
        var current = bits.load(ordering: .relaxed)
        while true {
            let sum = (Double(bitPattern: current) + amount).bitPattern
            let (exchanged, original) = bits.weakCompareExchange(expected: current, desired: sum, ordering: .relaxed)
            if exchanged { return }
            current = original
        }
    }
}

func braced(_ dimensions: String) -> String {
    dimensions.isEmpty ? "" : "{\(dimensions)}"
}

/// Every metric of this process, written out as Prometheus reads it (text format 0.0.4).
///
/// Creating a metric takes a lock, so create it once and keep it. Recording uses only atomics.
///
/// swift-prometheus is not used: its registry ends the process when a name is used with other labels or as another kind
/// of metric.
public final class PrometheusRegistry: DeclaringMetricsFactory {
    struct Family {
        var type: String
        /// The metrics by their dimensions as text.
        var members: [String: any PrometheusMetric] = [:]
    }

    private let families = Mutex<[String: Family]>([:])
    private let declared = Mutex<[String: MetricDeclaration]>([:])

    public init() {}

    public func declare(_ declaration: MetricDeclaration) {
        declared.withLock { $0[PrometheusName.make(declaration.name)] = declaration }
    }

    /// Every metric that was declared, whether or not it is exposed already, and those of the process. By name.
    public var declarations: [MetricDeclaration] {
        (declared.withLock { Array($0.values) } + ProcessMetrics.all.map(\.declaration)).sorted { $0.name < $1.name }
    }

    public func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        make(PrometheusName.make(label, suffix: "_total"), dimensions, type: "counter") { PrometheusCounter() }
    }

    public func makeFloatingPointCounter(
        label: String, dimensions: [(String, String)]
    ) -> any FloatingPointCounterHandler {
        make(PrometheusName.make(label, suffix: "_total"), dimensions, type: "counter") {
            PrometheusFloatingPointCounter()
        }
    }

    public func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
        make(PrometheusName.make(label), dimensions, type: "gauge") { PrometheusGauge() }
    }

    public func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
        guard aggregate else {
            return make(PrometheusName.make(label), dimensions, type: "gauge") { PrometheusGauge() }
        }
        return make(PrometheusName.make(label), dimensions, type: "histogram") {
            PrometheusHistogram(bounds: PrometheusHistogram.counts)
        }
    }

    public func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        make(PrometheusName.make(label, suffix: "_seconds"), dimensions, type: "histogram") {
            PrometheusHistogram(bounds: PrometheusHistogram.durations)
        }
    }

    // Counters and timers live as long as the process. A counter that starts again at 0 would look like a restart.
    public func destroyCounter(_ handler: any CounterHandler) {}
    public func destroyFloatingPointCounter(_ handler: any FloatingPointCounterHandler) {}
    public func destroyMeter(_ handler: any MeterHandler) { remove(handler) }
    public func destroyRecorder(_ handler: any RecorderHandler) { remove(handler) }
    public func destroyTimer(_ handler: any TimerHandler) {}

    /// All metrics and those of the process, as text.
    public func exposition() -> String {
        let families = families.withLock { $0 }
        let declared = declared.withLock { $0 }
        var text = ""
        // A family whose gauges were all removed is not written.
        for (name, family) in families.sorted(by: { $0.key < $1.key }) where !family.members.isEmpty {
            if let help = declared[name]?.help { text += "# HELP \(name) \(PrometheusName.escape(help: help))\n" }
            text += "# TYPE \(name) \(family.type)\n"
            for (dimensions, metric) in family.members.sorted(by: { $0.key < $1.key }) {
                metric.write(name: name, dimensions: dimensions, to: &text)
            }
        }
        ProcessMetrics.write(to: &text)
        return text
    }

    /// Removes a gauge whose subject no longer exists. Otherwise the number of gauges would grow without limit.
    private func remove(_ handler: AnyObject) {
        guard let gauge = handler as? PrometheusGauge else { return }
        families.withLock { families in
            for (name, family) in families where family.type == "gauge" {
                guard let member = family.members.first(where: { $0.value === gauge }) else { continue }
                families[name]?.members[member.key] = nil
                return
            }
        }
    }

    private func make<Metric: PrometheusMetric>(
        _ name: String, _ dimensions: [(String, String)], type: String, _ create: () -> Metric
    ) -> Metric {
        let dimensions = PrometheusName.dimensions(dimensions)
        return families.withLock { families in
            var family = families[name] ?? Family(type: type)
            if let metric = family.members[dimensions] as? Metric { return metric }
            let metric = create()
            // A second kind of metric under one name is a defect that must not end the process. It is not exposed.
            if family.type == type {
                family.members[dimensions] = metric
                families[name] = family
            }
            return metric
        }
    }
}

/// A metric that can be written out.
protocol PrometheusMetric: AnyObject, Sendable {
    /// - Parameter dimensions: `a="b",c="d"`, or empty.
    func write(name: String, dimensions: String, to text: inout String)
}

enum PrometheusName {
    /// A name of letters, digits and underscores.
    static func make(_ label: String, suffix: String = "") -> String {
        var name = String(label.map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "_" })
        if name.first?.isNumber != false { name = "_" + name }
        return name.hasSuffix(suffix) ? name : name + suffix
    }

    static func dimensions(_ dimensions: [(String, String)]) -> String {
        dimensions.map { "\(make($0))=\"\(escape($1))\"" }.joined(separator: ",")
    }

    static func escape(help: String) -> String {
        help.replacing("\\", with: "\\\\").replacing("\n", with: "\\n")
    }

    private static func escape(_ value: String) -> String {
        var escaped = ""
        for character in value {
            switch character {
            case "\\": escaped += "\\\\"
            case "\"": escaped += "\\\""
            case "\n": escaped += "\\n"
            default: escaped.append(character)
            }
        }
        return escaped
    }
}

/// A distribution over fixed buckets.
final class PrometheusHistogram: TimerHandler, RecorderHandler, PrometheusMetric {
    /// Seconds, from half a millisecond to the longest wait of a caller.
    static let durations: [Double] = [
        0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30,
    ]
    static let counts: [Double] = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 10_000, 100_000, 1_000_000]

    private let bounds: [Double]
    /// One more than `bounds`. The last one counts values above all bounds.
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
