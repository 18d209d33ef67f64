package import GatehouseAccessTokens
package import GatehouseInstruments
package import Logging
import Synchronization

/// Reports the keys of an issuer that cannot be used: a metric has their number, and the log each of them once.
package final class UnusableKeys: Sendable {
    /// The most lines for one reading. The publisher chooses the number of its keys.
    private static let maximumLines = 16

    private let issuer: String
    private let number: Gauge
    private let logger: Logger
    /// Those of the last reading.
    private let known = Mutex<Set<UnusableKey>>([])

    /// - Parameters:
    ///   - issuer: for the log.
    ///   - number: the metric.
    package init(issuer: String, number: Gauge, logger: Logger) {
        self.issuer = issuer
        self.number = number
        self.logger = logger
        number.set(0)
    }

    /// - Parameter keys: all unusable keys of a reading.
    package func report(_ keys: [UnusableKey]) {
        number.set(keys.count)
        let added = known.withLock { known in
            defer { known = Set(keys) }
            return Set(keys).subtracting(known)
        }
        for key in added.sorted(by: { $0.description < $1.description }).prefix(Self.maximumLines) {
            logger.warning(
                "a published key cannot be used and is skipped",
                metadata: ["issuer": "\(issuer)", "kid": "\(key.kid ?? "")", "reason": "\(key.reason)"])
        }
    }
}
