import GatehouseContracts
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

    /// A process in which a user has signed in.
    func signedIn(_ identifier: String = "ada@example.com") async throws -> GatehouseClient {
        let client = try launch()
        try await client.begin(identifier)
        return client
    }

    /// The same installation with a network of its own, so that one of two processes can be without.
    func withOwnNetwork() -> TestDevice { TestDevice(store: store, clock: clock, server: server) }
}

extension GatehouseClient {
    /// Signs in as `signIn(identifier:password:)` does.
    func begin(_ identifier: String) async throws {
        try await session.begin(answer(identifier))
    }

    /// What the server answers to a sign-in, before the client knows of it.
    func answer(_ identifier: String) async throws -> API.Answer<AuthResponse> {
        try await api.call(
            "POST", "/v1/auth/login", json: LoginRequest(identifier: identifier, password: "correct horse"))
    }
}

final class RecordedTelemetry: GatehouseTelemetry {
    private let events = Mutex<[TelemetryEvent]>([])

    func record(_ event: TelemetryEvent) { events.withLock { $0.append(event) } }

    func count(_ name: TelemetryEvent.Name, reason: String? = nil) -> Int {
        events.withLock { $0.filter { $0.name == name && (reason == nil || $0.reason == reason) }.count }
    }
}

final class SwitchedConnectivity: GatehouseConnectivity {
    private struct State {
        var isOnline = true
        var listeners: [Int: AsyncStream<Bool>.Continuation] = [:]
        var next = 0
    }

    private let state = Mutex(State())

    var isOnline: Bool { state.withLock { $0.isOnline } }
    /// How many follow the changes.
    var listening: Int { state.withLock { $0.listeners.count } }

    var changes: AsyncStream<Bool> {
        let (changes, continuation) = AsyncStream.makeStream(of: Bool.self)
        let number = state.withLock { state in
            state.next += 1
            state.listeners[state.next] = continuation
            return state.next
        }
        continuation.onTermination = { [weak self] _ in self?.forget(number) }
        return changes
    }

    func turn(online: Bool) {
        let listeners = state.withLock { state in
            state.isOnline = online
            return state.listeners.values
        }
        for listener in listeners { listener.yield(online) }
    }

    private func forget(_ number: Int) { state.withLock { $0.listeners[number] = nil } }
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
