import GatehouseContracts
import Foundation
import Synchronization
import Testing

@testable import GatehouseClient

@Suite("A session that is restored") struct SessionRestoreTests {
    @Test("Offline it is there at once") func offline() async throws {
        let device = TestDevice()
        _ = try await device.signedIn()
        device.connectivity.turn(online: false)
        let client = try device.launch()
        #expect(await client.session.state == .restoring)
        try await client.session.start()
        #expect(await client.session.state.user?.email == "ada@example.com")
        _ = try await client.session.accessToken()
    }

    @Test("The server is asked whether it still holds") func checked() async throws {
        let device = TestDevice()
        _ = try await device.signedIn()
        device.server.state.withLock { $0.chains["session1"]?.user.displayName = "Ada" }
        let client = try device.launch()
        try await client.session.start()
        try await until("the user is up to date") { await client.session.state.user?.displayName == "Ada" }
        device.server.revokeAll()
        let next = try device.launch()
        try await next.session.start()
        try await until("it has ended") { await next.session.state == .signedOut(reason: .endedByServer) }
    }

    @Test("No user was signed in") func empty() async throws {
        let client = try TestDevice().launch()
        try await client.session.start()
        #expect(await client.session.state == .signedOut(reason: nil))
        let error = await #expect(throws: GatehouseError.self) { try await client.session.accessToken() }
        #expect(error?.kind == .signedOut)
    }

    @Test("A locked device is no empty one") func locked() async throws {
        let device = TestDevice()
        _ = try await device.signedIn()
        await device.store.fail(load: TokenStoreError(.deviceLocked))
        let client = try device.launch()
        let error = await #expect(throws: GatehouseError.self) { try await client.session.accessToken() }
        #expect(error?.kind == .locked)
        #expect(await client.session.state == .locked(.device))
        await device.store.fail()
        _ = try await client.session.accessToken()
        #expect(await client.session.state.user != nil)
    }

    @Test("The user unlocks it") func userPresence() async throws {
        let device = TestDevice()
        _ = try await device.signedIn()
        await device.store.fail(load: TokenStoreError(.userPresenceNeeded))
        let client = try device.launch()
        _ = await #expect(throws: GatehouseError.self) { try await client.session.start() }
        #expect(await client.session.state == .locked(.userPresence))
        try await client.session.unlock(reason: "to see your orders")
        #expect(await client.session.state.user != nil)
    }

    @Test("A read that began before the user has unlocked the store does not fail the unlocking")
    func unlockedWhileReading() async throws {
        let device = TestDevice()
        _ = try await device.signedIn()
        await device.store.fail(load: TokenStoreError(.userPresenceNeeded))
        let gate = Gate()
        await device.store.hold(loads: gate)
        let client = try device.launch()
        let reading = Task { try? await client.session.start() }
        await gate.untilSomebodyArrives()
        let unlocking = Task { try await client.session.unlock(reason: "r") }
        try await until("unlocked") { await device.store.loadFailure == nil }
        await gate.open()
        try await unlocking.value
        await reading.value
        #expect(await client.session.state.user != nil)
    }

    @Test("A store that fails is read again") func failing() async throws {
        let device = TestDevice()
        _ = try await device.signedIn()
        await device.store.fail(load: TokenStoreError(.failed))
        let client = try device.launch()
        let error = await #expect(throws: GatehouseError.self) { try await client.session.start() }
        #expect(error?.kind == .storage)
        #expect(await client.session.state == .restoring)
        await device.store.fail()
        try await client.session.start()
        #expect(await client.session.state.user != nil)
    }

    @Test(
        "A damaged record signs the user out with that reason", arguments: ["{", #"{"version":0,"pendingLogouts":[]}"#])
    func corrupt(text: String) async throws {
        let client = try TestDevice(store: FaultyStore(data: Data(text.utf8))).launch()
        try await client.session.start()
        #expect(await client.session.state == .signedOut(reason: .storeCorrupt))
    }

    @Test(
        "A record of a later version signs no user out, and stays for that version",
        arguments: [#"{"version":2,"pendingLogouts":[]}"#, #"{"version":3,"session":"in another form"}"#])
    func laterVersion(text: String) async throws {
        let device = TestDevice(store: FaultyStore(data: Data(text.utf8)))
        let client = try device.launch()
        let error = await #expect(throws: GatehouseError.self) { try await client.session.start() }
        #expect(error?.kind == .storage)
        #expect(await client.session.state == .restoring)
        let failure = await #expect(throws: GatehouseError.self) { try await client.begin("ada@example.com") }
        #expect(failure?.kind == .storage)
        #expect(await device.store.data == Data(text.utf8))
    }

    @Test(
        "Another server's session is not shown to this one",
        arguments: [
            ("https://api.example.com/", true), ("https://API.example.com:443", true),
            ("https://api.example.org", false), ("https://api.example.com:8443", false),
        ])
    func anotherServer(address: String, isTheSame: Bool) async throws {
        let device = TestDevice()
        _ = try await device.signedIn()
        let client = try device.launch(at: address)
        try await client.session.start()
        #expect((await client.session.state.user != nil) == isTheSame)
    }

    @Test("The device's clock is wrong by a day, and moves between two launches", arguments: [-86_400.0, 86_400])
    func wrongClock(jump: TimeInterval) async throws {
        let clock = ManualClock()
        let device = TestDevice(clock: clock, server: FakeGatehouse(clock: clock, offset: 86_400))
        _ = try await device.signedIn()
        clock.jump(by: jump)
        for _ in 0..<5 {
            let client = try device.launch()
            try await client.session.start()
            let user = try await client.session.call("GET", "/v1/auth/me", returning: GatehouseClient.User.self)
            #expect(user.email == "ada@example.com")
            clock.advance(by: .seconds(3000))
        }
        #expect(device.telemetry.count(.sessionEnded) == 0)
    }

    @Test("Every listener hears of every change") func listeners() async throws {
        let device = TestDevice()
        let client = try device.launch()
        let listeners = (0..<5).map { _ in client.session.changes() }
        let heard = Task {
            var all: [[SessionState]] = []
            for changes in listeners {
                var states: [SessionState] = []
                for await state in changes {
                    states.append(state)
                    if state == .signedOut(reason: .user) { break }
                }
                all.append(states)
            }
            return all
        }
        try await client.session.begin(
            client.api.call(
                "POST", "/v1/auth/login", json: LoginRequest(identifier: "ada@example.com", password: "correct horse")))
        try await client.session.end(.user)
        for states in await heard.value { #expect(states.last == .signedOut(reason: .user)) }
    }
}
