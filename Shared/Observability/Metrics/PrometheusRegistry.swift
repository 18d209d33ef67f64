public import CoreMetrics
public import Instruments
import Synchronization

/// Every metric of this process, written out as Prometheus reads it (text format 0.0.4).
///
/// Looking a metric up takes a lock, so make it once and keep it; recording takes atomics alone.
///
/// Not swift-prometheus: its registry ends the process where a name comes with other labels or as another kind of metric.
public final class PrometheusRegistry: HelpingMetricsFactory {
    struct Family {
        var type: String
        /// By its dimensions, written out.
        var members: [String: any PrometheusMetric] = [:]
    }

    private let families = Mutex<[String: Family]>([:])
    private let texts = Mutex<[String: String]>([:])

    public init() {}

    public func help(_ name: String, _ text: String) {
        texts.withLock { $0[PrometheusName.make(name)] = text }
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

    // What counts lives as long as the process: a counter that starts over would look like a restart.
    public func destroyCounter(_ handler: any CounterHandler) {}
    public func destroyFloatingPointCounter(_ handler: any FloatingPointCounterHandler) {}
    public func destroyMeter(_ handler: any MeterHandler) { remove(handler) }
    public func destroyRecorder(_ handler: any RecorderHandler) { remove(handler) }
    public func destroyTimer(_ handler: any TimerHandler) {}

    /// All metrics and those of the process, as text.
    public func exposition() -> String {
        let families = families.withLock { $0 }
        let texts = texts.withLock { $0 }
        var text = ""
        // Of a gauge that was removed nothing but the name may be left.
        for (name, family) in families.sorted(by: { $0.key < $1.key }) where !family.members.isEmpty {
            if let help = texts[name] { text += "# HELP \(name) \(PrometheusName.escape(help: help))\n" }
            text += "# TYPE \(name) \(family.type)\n"
            for (dimensions, metric) in family.members.sorted(by: { $0.key < $1.key }) {
                metric.write(name: name, dimensions: dimensions, to: &text)
            }
        }
        ProcessMetrics.write(to: &text)
        return text
    }

    /// A gauge of what is gone says nothing, and there is no end to them.
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
            // A second kind of metric under one name is a slip that must not end the process; it is not shown.
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
