import GatehouseContracts
import Foundation
import Synchronization
import Testing

@testable import GatehouseClient

@Suite("A session whose app goes to the background and comes back")
struct SessionForegroundTests {
    @Test("The session is verified at most once a minute")
    func verified() async throws {
        let device = TestDevice()
        let client = try await device.signedIn()
        await client.session.cameToForeground()
        #expect(device.server.count("/v1/auth/me") == 1)
        device.clock.advance(by: .seconds(59))
        await client.session.cameToForeground()
        #expect(device.server.count("/v1/auth/me") == 1)
        device.clock.advance(by: .seconds(1))
        await client.session.cameToForeground()
        #expect(device.server.count("/v1/auth/me") == 2)
        device.server.revokeAll()
        device.clock.advance(by: .seconds(60))
        await client.session.cameToForeground()
        #expect(await client.session.state == .signedOut(reason: .endedByServer))
    }

    @Test("The verification at launch counts")
    func launch() async throws {
        let device = TestDevice()
        _ = try await device.signedIn()
        let client = try device.launch()
        try await client.session.start()
        try await until("verified") { await client.session.isUnchecked == false }
        await client.session.cameToForeground()
        #expect(device.server.count("/v1/auth/me") == 1)
    }

    @Test("A token is refreshed five minutes, or a fifth of its lifetime, before it expires", arguments: [3600, 60])
    func refreshed(lifetime: Int) async throws {
        let device = TestDevice()
        device.server.state.withLock { $0.lifetime = lifetime }
        let client = try await device.signedIn()
        let margin = min(300, lifetime / 5)
        device.clock.advance(by: .seconds(lifetime - margin - 1))
        await client.session.cameToForeground()
        await client.session.settle()
        #expect(device.server.count("/v1/auth/refresh") == 0)
        let verified = device.server.count("/v1/auth/me")
        device.clock.advance(by: .seconds(1))
        await client.session.cameToForeground()
        await client.session.settle()
        #expect(device.server.count("/v1/auth/refresh") == 1)
        #expect(device.server.count("/v1/auth/me") == verified)
    }

    @Test("Without a user no request is sent")
    func signedOut() async throws {
        let device = TestDevice()
        let client = try device.launch()
        try await client.session.start()
        await client.session.cameToForeground()
        #expect(device.server.state.withLock { $0.requests }.isEmpty)
    }

    // MARK: - Locking

    private func signedIn(
        _ store: ProtectedStore, _ server: FakeGatehouse
    ) async throws -> GatehouseClient {
        let client = try GatehouseClient(
            configuration: GatehouseConfiguration(
                baseURL: try #require(URL(string: "https://api.example.com")), store: store, transport: server,
                clock: server.clock))
        try await client.begin("ada@example.com")
        return client
    }

    @Test("A locked session has no tokens until the user unlocks it")
    func locks() async throws {
        let store = ProtectedStore()
        let client = try await signedIn(store, FakeGatehouse(clock: ManualClock()))
        let token = try await client.session.accessToken()
        await client.session.lock()
        #expect(await client.session.state == .locked(.userPresence))
        let error = await #expect(throws: GatehouseError.self) { try await client.session.accessToken() }
        #expect(error?.kind == .locked)
        await client.session.cameToForeground()
        try await client.session.unlock(reason: "r")
        #expect(try await client.session.accessToken() == token)
        #expect(await store.unlocks == 1)
    }

    @Test("A refresh in progress: its callers learn that the session is locked, and the session continues afterwards")
    func locksDuringRefresh() async throws {
        let (gate, clock) = (Gate(), ManualClock())
        let store = ProtectedStore()
        let client = try await signedIn(store, FakeGatehouse(clock: clock, gate: gate))
        clock.advance(by: .seconds(3601))
        let waiting = Task { try await client.session.accessToken() }
        await gate.untilSomebodyArrives()
        await client.session.lock()
        let error = await #expect(throws: GatehouseError.self) { try await waiting.value }
        #expect(error?.kind == .locked)
        #expect(await client.session.state == .locked(.userPresence))
        try await client.session.unlock(reason: "r")
        _ = try await client.session.accessToken()
        #expect(await store.unlocks == 1)
    }

    @Test("A store that requires no authentication is not locked")
    func open() async throws {
        let client = try await TestDevice().signedIn()
        await client.session.lock()
        #expect(await client.session.state.user != nil)
    }
}
