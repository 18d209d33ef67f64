import Foundation
import Instruments
import Synchronization

/// Since when each signing key is what it is, as far as its file says, and when the file was read.
final class SigningKeyMetrics: Sendable {
    private struct Label: Hashable {
        let kid: String
        let state: String
    }

    private let keys = Mutex<[Label: Gauge]>([:])
    private let read: Gauge
    private let factory: (any MetricsFactory)?

    init(factory: (any MetricsFactory)? = nil) {
        self.factory = factory
        read = Gauge(
            "tokens_signing_keys_read_timestamp_seconds",
            help: "When the signing keys in use were read from their file, in seconds since 1970.", factory: factory)
    }

    func tell(_ keys: SigningKeys, readAt: Date = .now) {
        read.set(readAt.timeIntervalSince1970)
        let present = keys.entries.reduce(into: [Label: Date]()) { present, entry in
            present[Label(kid: entry.keyID, state: entry.state.rawValue)] = entry.since
        }
        self.keys.withLock { gauges in
            for (label, gauge) in gauges where present[label] == nil {
                gauge.remove()
                gauges[label] = nil
            }
            for (label, since) in present {
                let gauge =
                    gauges[label]
                    ?? Gauge(
                        "tokens_signing_key_state_timestamp_seconds",
                        help: "Since when a signing key is in its state, in seconds since 1970, if its file says so.",
                        labels: [("kid", label.kid), ("state", label.state)], factory: factory)
                gauge.set(since.timeIntervalSince1970)
                gauges[label] = gauge
            }
        }
    }
}
