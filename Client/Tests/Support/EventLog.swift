import GatehouseClient
import Synchronization

/// Remembers what it is told.
final class EventLog: GatehouseTelemetry {
    private let log = Mutex<[TelemetryEvent]>([])

    var events: [TelemetryEvent] { log.withLock { $0 } }

    func record(_ event: TelemetryEvent) { log.withLock { $0.append(event) } }
}

/// A network that is there or not.
struct FixedConnectivity: GatehouseConnectivity {
    var isOnline: Bool
    var changes: AsyncStream<Bool> { AsyncStream { $0.finish() } }
}
