import GatehouseContracts
import Foundation
import Testing

@testable import GatehouseClient

@Suite("A session's refresh") struct SessionRefreshTests {
    @Test("However many ask with an expired token, the server is asked once") func oneForAll() async throws {
        let device = TestDevice()
        let client = try await device.signedIn()
        device.clock.advance(by: .seconds(3601))
        let tokens = try await withThrowingTaskGroup(of: GatehouseAccessToken.self) { group in
            for _ in 0..<500 { group.addTask { try await client.session.accessToken() } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(Set(tokens.map(\.value.value)).count == 1)
        #expect(device.server.count("/v1/auth/refresh") == 1)
    }

    @Test("A caller that stops waiting does not end the refresh for the others") func callersCancel() async throws {
        let gate = Gate()
        let clock = ManualClock()
        let device = TestDevice(clock: clock, server: FakeGatehouse(clock: clock, gate: gate))
        let client = try await device.signedIn()
        clock.advance(by: .seconds(3601))
        let impatient = Task { try await client.session.accessToken() }
        await gate.untilSomebodyArrives()
        let patient = Task { try await client.session.accessToken() }
        impatient.cancel()
        await gate.open()
        _ = try await patient.value
        #expect(device.server.count("/v1/auth/refresh") == 1)
    }

    @Test("A valid token is used while a new one is fetched") func early() async throws {
        let device = TestDevice()
        let client = try await device.signedIn()
        let first = try await client.session.accessToken()
        // Five minutes before the end: a fifth of the hour would be twelve.
        device.clock.advance(by: .seconds(3300))
        #expect(try await client.session.accessToken() == first)
        try await until("it is renewed") { try await client.session.accessToken() != first }
        #expect(device.server.count("/v1/auth/refresh") == 1)
    }

    @Test("A token lives by the monotonic clock, whatever the device shows", arguments: [-86_400.0, 86_400])
    func wrongClock(jump: TimeInterval) async throws {
        let device = TestDevice()
        let client = try await device.signedIn()
        device.clock.jump(by: jump)
        _ = try await client.session.accessToken()
        #expect(device.server.count("/v1/auth/refresh") == 0)
        device.clock.advance(by: .seconds(3601))
        _ = try await client.session.accessToken()
        #expect(device.server.count("/v1/auth/refresh") == 1)
    }

    @Test("Only who was refused with the current token has it renewed") func alamofiresRule() async throws {
        let device = TestDevice()
        let client = try await device.signedIn()
        let first = try await client.session.accessToken()
        device.clock.advance(by: .seconds(1))
        let second = try await client.session.accessToken(after: first)
        #expect(second != first)
        #expect(try await client.session.accessToken(after: first) == second)
        #expect(device.server.count("/v1/auth/refresh") == 1)
    }

    @Test("A lost answer is asked for again with the same token") func lostAnswer() async throws {
        let device = TestDevice()
        let client = try await device.signedIn()
        device.clock.advance(by: .seconds(3601))
        device.server.fault("/v1/auth/refresh", .answerLost)
        let error = await #expect(throws: GatehouseError.self) { try await client.session.accessToken() }
        #expect(error?.kind == .unavailable)
        #expect(device.server.count("/v1/auth/refresh") == 3)
        device.server.fault("/v1/auth/refresh", .none)
        _ = try await client.session.accessToken()
        #expect(await client.session.state.user?.email == "ada@example.com")
        #expect(device.telemetry.count(.sessionEnded) == 0)
    }

    @Test("The process that is killed before it could save begins with the old token") func killed() async throws {
        let device = TestDevice()
        _ = try await device.signedIn()
        device.clock.advance(by: .seconds(3601))
        let before = await device.store.data
        _ = try await device.launch().session.accessToken()
        await device.store.set(before)
        let next = try device.launch()
        _ = try await next.session.accessToken()
        #expect(await next.session.state.user != nil)
    }

    @Test("A token that could not be saved is not used, and is requested again") func failedSave() async throws {
        let device = TestDevice()
        let client = try await device.signedIn()
        device.clock.advance(by: .seconds(3601))
        await device.store.fail(save: TokenStoreError(.failed, "errno 28"))
        let error = await #expect(throws: GatehouseError.self) { try await client.session.accessToken() }
        #expect(error?.kind == .storage)
        await device.store.fail()
        let token = try await client.session.accessToken()
        #expect(await device.store.stored?.session?.accessToken == token.value)
    }

    @Test("Without a network it fails at once, and the session goes on") func offline() async throws {
        let device = TestDevice()
        let client = try await device.signedIn()
        device.clock.advance(by: .seconds(3601))
        device.connectivity.turn(online: false)
        let error = await #expect(throws: GatehouseError.self) { try await client.session.accessToken() }
        #expect(error?.kind == .offline && error?.retry == .whenOnline)
        #expect(device.server.count("/v1/auth/refresh") == 0)
        device.connectivity.turn(online: true)
        _ = try await client.session.accessToken()
    }

    @Test("While the server asks to wait, the client does not ask it") func retryAfter() async throws {
        let device = TestDevice()
        let client = try await device.signedIn()
        device.clock.advance(by: .seconds(3601))
        device.server.fault("/v1/auth/refresh", .status(503, retryAfter: 30))
        for _ in 0..<5 { _ = await #expect(throws: GatehouseError.self) { try await client.session.accessToken() } }
        #expect(device.server.count("/v1/auth/refresh") == 1)
        device.server.fault("/v1/auth/refresh", .none)
        device.clock.advance(by: .seconds(31))
        _ = try await client.session.accessToken()
    }
}
