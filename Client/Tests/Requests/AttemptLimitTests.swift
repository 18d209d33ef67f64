import Foundation
import GatehouseContracts
import Synchronization
import Testing

@testable import GatehouseClient

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

@Suite("The time limit of an attempt", .timeLimit(.minutes(1))) struct AttemptLimitTests {
    private let clock = ManualClock()

    private func client(
        _ transport: any GatehouseTransport, _ change: (inout GatehouseConfiguration) -> Void = { _ in }
    ) async throws -> GatehouseClient {
        var configuration = GatehouseConfiguration(
            baseURL: try #require(URL(string: "https://api.example.com")), store: InMemoryTokenStore(),
            transport: transport, clock: clock)
        change(&configuration)
        let client = try GatehouseClient(configuration: configuration)
        try await client.begin("ada@example.com")
        return client
    }

    private func request(_ method: String = "GET") throws -> URLRequest {
        var request = URLRequest(url: try #require(URL(string: "https://api.example.com/v1/orders")))
        request.httpMethod = method
        return request
    }

    /// Lets the time of a held attempt pass, once the client measures it.
    private func expire(_ transport: HeldTransport, after duration: Duration = .seconds(2)) async {
        await transport.untilHeld()
        // The limits of the call and of the attempt.
        await clock.sleepers(2)
        clock.advance(by: duration)
    }

    @Test("A hung refresh is attempted again after two seconds", arguments: [HeldTransport.Held.requests, .answers])
    func refresh(held: HeldTransport.Held) async throws {
        let server = FakeGatehouse(clock: clock)
        let transport = HeldTransport(server, held, to: "/v1/auth/refresh", count: 1)
        let client = try await client(transport)
        clock.advance(by: .seconds(3601))
        let begun = clock.monotonic
        let calling = Task { try await client.session.accessToken() }
        await expire(transport)
        let token = try await calling.value
        #expect(clock.monotonic - begun < .seconds(3) && transport.attempts == 2)
        // The server has answered the second attempt with the successor of the first, and goes on to know the session.
        #expect(server.state.withLock { $0.chains.values.allSatisfy { $0.generation == 1 && !$0.isRevoked } })
        clock.advance(by: .seconds(3601))
        #expect(try await client.session.accessToken() != token)
    }

    @Test("The last attempt has the rest of the budget, so that a slow network gets its answer")
    func lastAttempt() async throws {
        let transport = HeldTransport(FakeGatehouse(clock: clock), .requests, to: "/v1/orders")
        let client = try await client(transport)
        let request = try request()
        let calling = Task { try await client.data(for: request).1.statusCode }
        for _ in 0..<2 { await expire(transport) }
        await transport.untilHeld()
        clock.advance(by: .seconds(20))
        transport.release()
        #expect(try await calling.value == 200)
        #expect(transport.attempts == 3)
    }

    @Test("A request that is not idempotent has the whole budget")
    func sentOnce() async throws {
        let transport = HeldTransport(FakeGatehouse(clock: clock), .requests, to: "/v1/orders")
        let client = try await client(transport)
        let request = try request("POST")
        let calling = Task { try await client.data(for: request).1.statusCode }
        await transport.untilHeld()
        clock.advance(by: .seconds(29))
        transport.release()
        #expect(try await calling.value == 200)
        #expect(transport.attempts == 1)
    }

    @Test("If no attempt is left, the error is that of the time limit")
    func timedOut() async throws {
        let transport = HeldTransport(FakeGatehouse(clock: clock), .requests, to: "/v1/orders")
        let client = try await client(transport)
        let request = try request()
        let calling = Task { try await client.data(for: request) }
        for _ in 0..<2 { await expire(transport) }
        await transport.untilHeld()
        clock.advance(by: .seconds(30))
        let error = await #expect(throws: GatehouseError.self) { try await calling.value }
        #expect(error?.kind == .timedOut && transport.attempts == 3)
    }

    @Test("The limit is set with the other rules for retries")
    func configured() async throws {
        let transport = HeldTransport(FakeGatehouse(clock: clock), .requests, to: "/v1/orders", count: 1)
        let client = try await client(transport) { $0.retries.attemptLimit = .seconds(5) }
        let request = try request()
        let calling = Task { try await client.data(for: request).1.statusCode }
        await expire(transport, after: .seconds(5))
        #expect(try await calling.value == 200)
    }

    @Test("Cancelling the caller cancels the attempt")
    func cancelled() async throws {
        let transport = HeldTransport(FakeGatehouse(clock: clock), .requests, to: "/v1/orders")
        let client = try await client(transport)
        let request = try request()
        let calling = Task { try await client.data(for: request) }
        await transport.untilHeld()
        calling.cancel()
        let error = await #expect(throws: GatehouseError.self) { try await calling.value }
        #expect(error?.kind == .cancelled && transport.attempts == 1)
    }

    @Test("The configuration's random numbers set the pauses between attempts, and after a failed refresh")
    func jitter() async throws {
        let server = FakeGatehouse(clock: clock)
        let client = try await client(server) { $0.random = { 0.5 } }
        server.fault("/v1/auth/me", .unreachable)
        let begun = clock.monotonic
        _ = await #expect(throws: GatehouseError.self) { try await client.me() }
        #expect(clock.monotonic - begun == .milliseconds(200 + 400))
        server.fault("/v1/auth/refresh", .status(500))
        clock.advance(by: .seconds(3601))
        _ = await #expect(throws: GatehouseError.self) { try await client.session.accessToken() }
        #expect(await client.session.refreshDelay?.until == clock.monotonic + .milliseconds(500 + 2250))
    }
}
