import CoreMetrics
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
