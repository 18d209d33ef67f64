import Foundation
import GatehouseClient
import Synchronization
import TestKit

/// An app on a device: what it stores, its clock and what it tells outlive each of its launches.
struct ClientDevice: Sendable {
    let gateway: URL
    let clock = SteeredClock()
    let store: SteeredStore
    let transport: WatchedTransport
    let telemetry = TelemetryLog()

    /// - Parameter gateway: by default the running system's.
    init(
        gateway: URL = GatehouseSystem.current.process("gateway").url, store: SteeredStore = SteeredStore(),
        transport: any GatehouseTransport = URLSessionTransport()
    ) {
        self.gateway = gateway
        self.store = store
        self.transport = WatchedTransport(transport)
    }

    /// A new process: it knows what is stored and nothing else.
    func launch() throws -> GatehouseClient {
        try GatehouseClient(
            configuration: GatehouseConfiguration(
                baseURL: gateway, store: store, transport: transport, telemetry: telemetry, clock: clock,
                device: SessionDevice(name: "Ada's phone")))
    }

    /// A process in which a new user has signed in.
    func registered(_ identifier: String = Journey.uniqueEmail()) async throws -> GatehouseClient {
        let client = try launch()
        try await client.register(identifier: identifier, password: Journey.password)
        return client
    }

    /// A process in which a user who is known has signed in.
    func signedIn(_ identifier: String) async throws -> GatehouseClient {
        let client = try launch()
        try await client.signIn(identifier: identifier, password: Journey.password)
        return client
    }

    /// How often the server was asked for new tokens.
    var refreshes: Int { transport.count("/v1/auth/refresh") }
}

/// What a client told its app's measurements.
final class TelemetryLog: GatehouseTelemetry {
    private let events = Mutex<[TelemetryEvent]>([])

    func record(_ event: TelemetryEvent) { events.withLock { $0.append(event) } }

    func count(_ name: TelemetryEvent.Name) -> Int { events.withLock { $0.count { $0.name == name } } }

    func reasons(of name: TelemetryEvent.Name) -> [String] {
        events.withLock { $0.filter { $0.name == name }.compactMap(\.reason) }
    }
}
