import Foundation
import Synchronization
import Testing

@testable import GatehouseClient

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

@Suite("One budget for a whole call", .timeLimit(.minutes(1))) struct CallBudgetTests {
    private let clock = ManualClock()

    private func request(_ client: GatehouseClient) -> URLRequest {
        URLRequest(url: client.configuration.baseURL.appendingPathComponent("/v1/orders"))
    }

    /// Makes a call, and moves the clock to the end of the budget when the server holds a request.
    private func timesOut(
        _ device: TestDevice, _ gate: Gate, _ call: @escaping @Sendable () async throws -> Void
    ) async throws {
        let begun = clock.monotonic
        let calling = Task { try await call() }
        await gate.untilSomebodyArrives()
        clock.advance(by: .seconds(30) - (clock.monotonic - begun))
        let error = await #expect(throws: GatehouseError.self) { try await calling.value }
        #expect(error?.kind == .timedOut)
        await gate.open()
    }

    @Test("A refresh that takes longer ends the call, and the next call refreshes again") func refresh() async throws {
        let gate = Gate()
        let device = TestDevice(clock: clock, server: FakeGatehouse(clock: clock, gate: gate))
        let client = try await device.signedIn()
        clock.advance(by: .seconds(3601))
        let request = request(client)
        try await timesOut(device, gate) { _ = try await client.data(for: request) }
        _ = try await client.data(for: request)
        #expect(device.server.count("/v1/orders") == 1)
    }

    @Test("The library's own calls have it too", arguments: ["/v1/auth/me", "/v1/auth/login"])
    func ownCalls(path: String) async throws {
        let gate = Gate()
        let device = TestDevice(clock: clock, server: FakeGatehouse(clock: clock, gate: gate, at: path))
        let client = try device.launch(checksAtLaunch: false)
        if path == "/v1/auth/login" {
            try await timesOut(device, gate) { try await client.signIn(identifier: "ada@example.com", password: "p") }
        } else {
            try await client.begin("ada@example.com")
            try await timesOut(device, gate) { try await client.me() }
        }
    }

    @Test("It is set with the other rules for retries") func configured() async throws {
        let gate = Gate()
        let device = TestDevice(clock: clock, server: FakeGatehouse(clock: clock, gate: gate, at: "/v1/auth/me"))
        var configuration = try device.launch().configuration
        configuration.retries.budget = .seconds(5)
        let client = try GatehouseClient(configuration: configuration)
        try await client.begin("ada@example.com")
        let calling = Task { try await client.me() }
        await gate.untilSomebodyArrives()
        clock.advance(by: .seconds(5))
        let error = await #expect(throws: GatehouseError.self) { try await calling.value }
        #expect(error?.kind == .timedOut)
        await gate.open()
    }

    @Test("A call does not wait for a retry that the budget excludes") func excludedRetry() async throws {
        let clock = ManualClock(hasty: false)
        let device = TestDevice(clock: clock)
        var configuration = try device.launch().configuration
        configuration.retries.budget = .seconds(1)
        let client = try GatehouseClient(configuration: configuration)
        try await client.begin("ada@example.com")
        device.server.fault("/v1/auth/me", .status(503, retryAfter: 2))
        let error = await #expect(throws: GatehouseError.self) { try await client.me() }
        #expect(error?.kind == .unavailable && error?.retryAfter == .seconds(2))
        #expect(device.server.count("/v1/auth/me") == 1)
    }

    @Test("No pause is begun that ends after it: the caller gets the attempt's error") func pauses() {
        let policy = GatehouseRetryPolicy()
        let lost = GatehouseRetryPolicy.Outcome.failed(.networkConnectionLost)
        func decision(left: Duration?) -> GatehouseRetryPolicy.Decision {
            policy.decision(after: 1, isIdempotent: true, outcome: lost, random: 0.5, left: left)
        }
        #expect(decision(left: .milliseconds(200)) == .giveUp)
        #expect(decision(left: .milliseconds(201)) == .pause(.milliseconds(200)))
        #expect(decision(left: nil) == .pause(.milliseconds(200)))
        #expect(policy.budget == .seconds(30))
    }
}
