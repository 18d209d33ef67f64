import GatehouseContracts
import Foundation
import Synchronization
import Testing

@testable import GatehouseClient

@Suite("A sign-in beside what is under way") struct SessionBeginTests {
    @Test(
        "A failed read during a sign-in does not end the new session",
        arguments: [TokenStoreError.Code.userPresenceNeeded, .failed, .corrupt])
    func failingRestore(code: TokenStoreError.Code) async throws {
        let device = TestDevice()
        _ = try await device.signedIn()
        await device.store.fail(load: TokenStoreError(.userPresenceNeeded))
        let client = try device.launch()
        _ = await #expect(throws: GatehouseError.self) { try await client.session.start() }

        // "Sign in instead": while that is saved the app comes to the foreground.
        let (loads, saves) = (Gate(), Gate())
        await device.store.hold(saves: saves)
        async let begun: Void = client.begin("bob@example.com")
        await saves.untilSomebodyArrives()
        await device.store.fail(load: TokenStoreError(code))
        await device.store.hold(loads: loads)
        let work = await client.session.storeWork
        async let started: Void = client.session.start()
        try await until("the read waits for the save") { await client.session.storeWork != work }
        await saves.open()
        try await begun
        await loads.open()
        _ = try? await started
        #expect(await client.session.state.user?.email == "bob@example.com")
    }

    @Test("One that cannot be stored leaves the old session, and those who wait for it, as they were")
    func notStored() async throws {
        let (clock, gate) = (ManualClock(), Gate())
        let device = TestDevice(clock: clock, server: FakeGatehouse(clock: clock, gate: gate))
        let client = try await device.signedIn()
        clock.advance(by: .seconds(3601))
        let waiting = Task { try await client.session.accessToken() }
        await gate.untilSomebodyArrives()
        let answer = try await client.answer("bob@example.com")
        await device.store.fail(save: TokenStoreError(.failed, "errno 28"))
        let failure = await #expect(throws: GatehouseError.self) { try await client.session.begin(answer) }
        #expect(failure?.kind == .storage)
        let error = await #expect(throws: GatehouseError.self) { try await waiting.value }
        // Of a cancelled task there is nothing to show; this one may be tried again.
        #expect(error?.kind != .cancelled && error?.retry == .now)
        await device.store.fail()
        #expect(await client.session.state.user?.email == "ada@example.com")
        _ = try await client.session.accessToken()
    }

    @Test("A session that cannot be stored ends at the server, and the caller gets the store's error")
    func notStoredIsRevoked() async throws {
        let device = TestDevice()
        let client = try device.launch()
        await device.store.fail(save: TokenStoreError(.failed, "errno 28"))
        let error = await #expect(throws: GatehouseError.self) { try await client.begin("ada@example.com") }
        #expect(error?.kind == .storage && error?.reason?.contains("errno 28") == true)
        #expect(device.server.state.withLock { $0.chains["session1"]?.isRevoked } == true)
    }

    @Test("If the server cannot be reached then, the logout is stored and sent after the next sign-in")
    func notStoredIsRevokedLater() async throws {
        let device = TestDevice()
        let client = try device.launch()
        await device.store.fail(save: TokenStoreError(.failed))
        device.server.fault("/v1/auth/logout", .unreachable)
        _ = await #expect(throws: GatehouseError.self) { try await client.begin("ada@example.com") }
        await device.store.fail()
        try await client.begin("ada@example.com")
        #expect(await device.store.stored?.pendingLogouts == [Redacted("refresh.session1.0")])
        device.server.fault("/v1/auth/logout", .none)
        // The first may join an attempt that has met the fault.
        for _ in 0..<2 { await client.session.sendLogouts() }
        #expect(device.server.state.withLock { $0.chains["session1"]?.isRevoked } == true)
        #expect(device.server.state.withLock { $0.chains["session2"]?.isRevoked } == false)
    }

    @Test("A caller that waits for the old session's token gets an error") func replaced() async throws {
        let (clock, gate) = (ManualClock(), Gate())
        let device = TestDevice(clock: clock, server: FakeGatehouse(clock: clock, gate: gate))
        let client = try await device.signedIn()
        clock.advance(by: .seconds(3601))
        let waiting = Task { try await client.session.accessToken() }
        await gate.untilSomebodyArrives()
        try await client.begin("bob@example.com")
        let error = await #expect(throws: GatehouseError.self) { try await waiting.value }
        #expect(error?.kind == .signedOut)
        _ = try await client.session.accessToken()
        #expect(await device.store.stored?.session?.user.email == "bob@example.com")
    }
}
