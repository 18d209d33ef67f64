import Instruments
import Sealing

extension KeyRing {
    /// Tells which keys this replica has. Their file does not say how old they are.
    ///
    /// - Parameter kind: what they are for.
    func tellMetrics(as kind: String) {
        for id in ids {
            Gauge(
                "identity_key_info", help: "1 for each key of identity, by what this replica does with it.",
                labels: [("kind", kind), ("key", id), ("use", id == current.id ? "current" : "previous")]
            ).set(1)
        }
    }
}
