import GatehouseContracts
import Foundation
import Synchronization
import Testing

@testable import GatehouseClient

@Suite("A session's end") struct SessionEndTests {
    @Test("Revoked elsewhere: signed out once, with the reason") func revoked() async throws {
        let device = TestDevice()
        let client = try await device.signedIn()
        var states: [SessionState] = []
        let changes = client.session.changes()
        device.server.revokeAll()
        device.clock.advance(by: .seconds(3601))
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<20 { group.addTask { _ = try? await client.session.accessToken() } }
        }
        let error = await #expect(throws: GatehouseError.self) { try await client.session.accessToken() }
        #expect(error?.kind == .sessionEnded)
        for await state in changes {
            states.append(state)
            if case .signedOut = state { break }
        }
        #expect(states.last == .signedOut(reason: .endedByServer))
        #expect(device.telemetry.count(.sessionEnded, reason: "endedByServer") == 1)
        #expect(device.server.count("/v1/auth/refresh") == 1)
        #expect(await device.store.stored == StoredState())
    }

    @Test("Nothing but the server's word ends a session", arguments: [400, 401, 403, 404, 429, 500, 502, 503, 504])
    func otherAnswers(status: Int) async throws {
        let device = TestDevice()
        let client = try await device.signedIn()
        device.clock.advance(by: .seconds(3601))
        device.server.fault("/v1/auth/refresh", .status(status))
        _ = await #expect(throws: GatehouseError.self) { try await client.session.accessToken() }
        #expect(await client.session.state.user != nil)
        device.server.fault("/v1/auth/refresh", .none)
        device.clock.advance(by: .seconds(61))
        _ = try await client.session.accessToken()
    }

    @Test("Another process may have renewed the session meanwhile") func otherProcess() async throws {
        let device = TestDevice()
        let first = try await device.signedIn()
        // Its check in the background would renew the session while the first does.
        let second = try device.launch(checksAtLaunch: false)
        for _ in 0..<10 {
            device.clock.advance(by: .seconds(3601))
            _ = try await first.session.accessToken()
            _ = try await second.session.accessToken()
        }
        // The second takes what the first has stored.
        #expect(device.server.count("/v1/auth/refresh") == 10)
        #expect(await second.session.state.user != nil)
    }

    @Test("Another process has signed out") func signedOutElsewhere() async throws {
        let device = TestDevice()
        let first = try await device.signedIn()
        let second = try device.launch()
        try await second.session.start()
        try await first.session.end(.user)
        device.clock.advance(by: .seconds(3601))
        let error = await #expect(throws: GatehouseError.self) { try await second.session.accessToken() }
        #expect(error?.kind == .sessionEnded)
        #expect(await second.session.state == .signedOut(reason: .otherProcess))
    }

    @Test("A logout that could not be sent is sent at the next launch") func pendingLogout() async throws {
        let device = TestDevice()
        let client = try await device.signedIn()
        device.connectivity.turn(online: false)
        try await client.session.end(.user)
        #expect(await client.session.state == .signedOut(reason: .user))
        #expect(await device.store.stored?.session == nil)
        #expect(await device.store.stored?.pendingLogouts.count == 1)
        device.connectivity.turn(online: true)
        try await device.launch().session.start()
        try await until("the server knows") {
            device.server.state.withLock { $0.chains.values.allSatisfy(\.isRevoked) }
        }
        try await until("it is forgotten") { await device.store.stored == StoredState() }
    }

    @Test("A refresh that comes home after the sign-out brings nothing back") func lateResult() async throws {
        let gate = Gate()
        let clock = ManualClock()
        let device = TestDevice(clock: clock, server: FakeGatehouse(clock: clock, gate: gate))
        let client = try await device.signedIn()
        clock.advance(by: .seconds(3601))
        let waiting = Task { try await client.session.accessToken() }
        await gate.untilSomebodyArrives()
        async let ended: Void = client.session.end(.user)
        try await until("it has ended") { await client.session.state.user == nil }
        await gate.open()
        try await ended
        let error = await #expect(throws: GatehouseError.self) { try await waiting.value }
        #expect(error?.kind == .signedOut)
        #expect(await device.store.stored?.session == nil)
        #expect(await client.session.state == .signedOut(reason: .user))
    }

    @Test("A sign-in over another session ends that session at the server") func another() async throws {
        let device = TestDevice()
        let client = try await device.signedIn()
        try await client.session.begin(
            client.api.call(
                "POST", "/v1/auth/login", json: LoginRequest(identifier: "bob@example.com", password: "correct horse")))
        #expect(await client.session.state.user?.email == "bob@example.com")
        try await until("the first has ended") {
            device.server.state.withLock { $0.chains["session1"]?.isRevoked == true }
        }
        #expect(device.server.state.withLock { $0.chains["session2"]?.isRevoked } == false)
    }

    @Test("The store that cannot be emptied ends the session all the same") func storeFails() async throws {
        let device = TestDevice()
        let client = try await device.signedIn()
        await device.store.fail(save: TokenStoreError(.failed))
        let error = await #expect(throws: GatehouseError.self) { try await client.session.end(.user) }
        #expect(error?.kind == .storage)
        #expect(await client.session.state == .signedOut(reason: .user))
        #expect(device.server.state.withLock { $0.chains.values.allSatisfy(\.isRevoked) })
    }
}
