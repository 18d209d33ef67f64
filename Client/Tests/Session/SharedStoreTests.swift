import GatehouseContracts
import Foundation
import Synchronization
import Testing

@testable import GatehouseClient

@Suite("A store that several processes write to") struct SharedStoreTests {
    private let device = TestDevice()
    private var stored: StoredState? { get async { await device.store.stored } }

    @Test("A logout that is answered late does not sign out a user who has signed in elsewhere meanwhile")
    func lateLogout() async throws {
        let (clock, gate) = (ManualClock(), Gate())
        let device = TestDevice(clock: clock, server: FakeGatehouse(clock: clock, gate: gate, at: "/v1/auth/logout"))
        let first = try await device.signedIn()
        async let ended: Void = first.session.end(.user)
        await gate.untilSomebodyArrives()
        let second = try await device.signedIn("bob@example.com")
        await gate.open()
        try await ended
        try await until("it is forgotten") { await device.store.stored?.pendingLogouts.isEmpty == true }
        #expect(await device.store.stored?.session?.user.email == "bob@example.com")
        clock.advance(by: .seconds(3601))
        _ = try await second.session.accessToken()
    }

    @Test("A process that is one rotation behind does not bring the old token back with a logout")
    func logoutOneRotationBehind() async throws {
        let (clock, gate) = (ManualClock(), Gate())
        let device = TestDevice(clock: clock, server: FakeGatehouse(clock: clock, gate: gate, at: "/v1/auth/logout"))
        let first = try await device.signedIn()
        var state = try #require(await device.store.stored)
        state.pendingLogouts = [Redacted("refresh.earlier.0")]
        await device.store.set(try state.data())
        let second = try device.launch(checksAtLaunch: false)
        try await second.session.start()
        await gate.untilSomebodyArrives()
        clock.advance(by: .seconds(3601))
        _ = try await first.session.accessToken()
        await gate.open()
        try await until("it is forgotten") { await device.store.stored?.pendingLogouts.isEmpty == true }
        #expect(await device.store.stored?.session?.refreshToken.value == "refresh.session1.1")
    }

    @Test("A process that is ahead of the store does not fall back to an old token") func behind() async throws {
        let client = try await device.signedIn()
        let old = await device.store.data
        device.clock.advance(by: .seconds(3601))
        _ = try await client.session.accessToken()
        // As a restored backup would, or a process with an earlier version.
        await device.store.set(old)
        device.clock.advance(by: .seconds(3601))
        _ = try await client.session.accessToken()
        #expect(await stored?.session?.refreshToken.value == "refresh.session1.2")
    }

    @Test("Damage that comes while a user is signed in is mended with the next token") func damaged() async throws {
        let client = try await device.signedIn()
        await device.store.set(Data("{".utf8))
        device.clock.advance(by: .seconds(3601))
        _ = try await client.session.accessToken()
        #expect(await stored?.session?.refreshToken.value == "refresh.session1.1")
    }

    @Test("An app that comes to the foreground notices an extension's sign-out, without a request") func reload()
        async throws
    {
        let app = try await device.signedIn()
        await app.session.reload()
        #expect(await app.session.state.user != nil)
        let appExtension = try device.launch(checksAtLaunch: false)
        try await appExtension.session.end(.user)
        await app.session.reload()
        #expect(await app.session.state == .signedOut(reason: .otherProcess))
        #expect(device.server.count("/v1/auth/refresh") == 0)
    }

    @Test("It also takes an extension's new tokens, and keeps its own session if the store cannot be read")
    func reloadTokens() async throws {
        let app = try await device.signedIn()
        let appExtension = try device.launch(checksAtLaunch: false)
        device.clock.advance(by: .seconds(3601))
        let token = try await appExtension.session.accessToken()
        await device.store.fail(load: TokenStoreError(.failed))
        await app.session.reload()
        await device.store.fail()
        await app.session.reload()
        #expect(await app.session.machine.current?.accessToken == token.value)
        #expect(device.server.count("/v1/auth/refresh") == 1)
    }

    @Test("A refusal of an old token does not erase what a newer sign-in has stored") func refusedLate() async throws {
        let (clock, gate) = (ManualClock(), Gate())
        let device = TestDevice(clock: clock, server: FakeGatehouse(clock: clock, gate: gate))
        let client = try await device.signedIn()
        clock.advance(by: .seconds(3601))
        let waiting = Task { try await client.session.accessToken() }
        await gate.untilSomebodyArrives()
        device.server.revokeAll()
        let answer = try await device.withOwnNetwork().launch(checksAtLaunch: false).answer("bob@example.com")
        let bob = StoredSession(answer, wall: clock.wall)
        // A store without a lock: another process saves in the middle of the refresh.
        await device.store.set(try StoredState(session: bob).data())
        await gate.open()
        _ = await #expect(throws: GatehouseError.self) { try await waiting.value }
        #expect(await device.store.stored?.session == bob)
        #expect(await client.session.state.user?.email == "bob@example.com")
    }

    @Test(
        "Tokens that come after another process has signed out, or another user in, are not stored",
        arguments: [true, false])
    func renewedLate(isAnother: Bool) async throws {
        let (clock, gate) = (ManualClock(), Gate())
        let device = TestDevice(clock: clock, server: FakeGatehouse(clock: clock, gate: gate))
        let client = try await device.signedIn()
        clock.advance(by: .seconds(3601))
        let waiting = Task { try await client.session.accessToken() }
        await gate.untilSomebodyArrives()
        let answer = try await device.withOwnNetwork().launch(checksAtLaunch: false).answer("bob@example.com")
        let others = StoredState(session: isAnother ? StoredSession(answer, wall: clock.wall) : nil)
        await device.store.set(try others.data())
        await gate.open()
        let error = await #expect(throws: GatehouseError.self) { try await waiting.value }
        #expect(error?.kind == .sessionEnded)
        #expect(await device.store.stored == others)
        #expect(device.telemetry.count(.sessionEnded, reason: "otherProcess") == 1)
        #expect(await client.session.state.user?.email == (isAnother ? "bob@example.com" : nil))
    }

    @Test("New data of a user does not restore a session that another process has ended")
    func endedElsewhere() async throws {
        let client = try await device.signedIn()
        let other = device.withOwnNetwork()
        other.connectivity.turn(online: false)
        try await other.launch().session.end(.user)
        #expect(await stored?.session == nil)
        device.server.state.withLock { $0.chains["session1"]?.user.displayName = "Ada" }
        try await client.me()
        #expect(await stored?.session == nil)
        #expect(await stored?.pendingLogouts.count == 1)
        device.clock.advance(by: .seconds(3601))
        _ = await #expect(throws: GatehouseError.self) { try await client.session.accessToken() }
        #expect(await client.session.state == .signedOut(reason: .otherProcess))
    }

    @Test("Nor does it replace another user's session") func anotherUser() async throws {
        let client = try await device.signedIn()
        let other = device.withOwnNetwork()
        try await other.launch(checksAtLaunch: false).begin("bob@example.com")
        try await until("the first has ended") {
            device.server.state.withLock { $0.chains["session1"]?.isRevoked == true }
        }
        let user = try #require(await client.session.state.user)
        var changed = user
        changed.displayName = "Ada"
        try await client.session.update(changed)
        #expect(await stored?.session?.user.email == "bob@example.com")
    }

    @Test("A sign-out ends the user's own session, and not another user's") func signOutBesideAnother() async throws {
        let client = try await device.signedIn()
        let other = try device.launch(checksAtLaunch: false)
        try await other.begin("bob@example.com")
        try await client.session.end(.user)
        #expect(await client.session.state == .signedOut(reason: .user))
        #expect(await stored?.session?.user.email == "bob@example.com")
        #expect(device.server.state.withLock { $0.chains["session2"]?.isRevoked } == false)
        device.clock.advance(by: .seconds(3601))
        _ = try await other.session.accessToken()
    }

    @Test("A sign-out also ends the session that the user has begun in another process") func signOutTwice()
        async throws
    {
        let client = try await device.signedIn()
        try await device.launch(checksAtLaunch: false).begin("ada@example.com")
        #expect(await stored?.session?.refreshToken.value == "refresh.session2.0")
        try await client.session.end(.user)
        #expect(await stored?.session == nil)
        try await until("both have ended") {
            device.server.state.withLock { $0.chains.values.allSatisfy(\.isRevoked) }
        }
    }

    @Test("A record that cannot be read for a moment is not replaced") func unreadable() async throws {
        let client = try await device.signedIn()
        var state = try #require(await stored)
        state.pendingLogouts = [Redacted("refresh.earlier.0")]
        await device.store.set(try state.data())
        let before = await device.store.data
        device.server.state.withLock { $0.chains["session1"]?.user.displayName = "Ada" }
        await device.store.fail(load: TokenStoreError(.failed, "errno 5"))
        let error = await #expect(throws: GatehouseError.self) { try await client.me() }
        #expect(error?.kind == .storage)
        #expect(await device.store.data == before)
        await device.store.fail()
        try await client.me()
        #expect(await stored?.session?.user.displayName == "Ada")
        #expect(await stored?.pendingLogouts == [Redacted("refresh.earlier.0")])
    }
}
