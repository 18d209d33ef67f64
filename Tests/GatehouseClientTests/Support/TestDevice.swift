import Contracts
import Foundation
import Synchronization
import Testing

@testable import GatehouseClient

/// An installation of an app: what is stored outlives each of its launches.
struct TestDevice {
    let clock: ManualClock
    let server: FakeGatehouse
    let store: FaultyStore
    let telemetry = RecordedTelemetry()
    let connectivity = SwitchedConnectivity()

    init(store: FaultyStore = FaultyStore(), clock: ManualClock = ManualClock(), server: FakeGatehouse? = nil) {
        self.store = store
        self.clock = clock
        self.server = server ?? FakeGatehouse(clock: clock)
    }

    /// A new process: it knows what is stored and nothing else.
    func launch(
        at address: String = "https://api.example.com", checksAtLaunch: Bool = true
    ) throws -> GatehouseClient {
        try GatehouseClient(
            configuration: GatehouseConfiguration(
                baseURL: URL(string: address)!, store: store, transport: server,
                connectivity: connectivity, telemetry: telemetry, clock: clock,
                checksAtLaunch: checksAtLaunch))
    }

    /// A process in which somebody has signed in.
    func signedIn(_ identifier: String = "ada@example.com") async throws -> GatehouseClient {
        let client = try launch()
        try await client.session.begin(
            client.api.call(
                "POST", "/v1/auth/login", json: LoginRequest(identifier: identifier, password: "correct horse")))
        return client
    }
}

final class RecordedTelemetry: Telemetry {
    private let events = Mutex<[TelemetryEvent]>([])

    func record(_ event: TelemetryEvent) { events.withLock { $0.append(event) } }

    func count(_ name: TelemetryEvent.Name, reason: String? = nil) -> Int {
        events.withLock { $0.filter { $0.name == name && (reason == nil || $0.reason == reason) }.count }
    }
}

final class SwitchedConnectivity: Connectivity {
    private let online = Mutex(true)

    var isOnline: Bool { online.withLock { $0 } }
    var changes: AsyncStream<Bool> { AsyncStream { $0.finish() } }

    func turn(online: Bool) { self.online.withLock { $0 = online } }
}

/// Waits until `condition` holds; other tasks go on meanwhile.
func until(_ what: Comment, _ condition: () async throws -> Bool) async throws {
    let end = ContinuousClock.now + .seconds(60)
    while try await !condition() {
        guard ContinuousClock.now < end else {
            Issue.record(what)
            throw CancellationError()
        }
        try await Task.sleep(for: .milliseconds(2))
    }
}
