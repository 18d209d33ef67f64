import GatehouseContracts
import Foundation
import Synchronization
import Testing

@testable import GatehouseClient

@Suite("A sign-out while the stored session cannot be read") struct LockedSignOutTests {
    private let device = TestDevice()

    /// A new process that cannot read the session of the user who has signed in.
    private func locked(_ code: TokenStoreError.Code) async throws -> GatehouseClient {
        _ = try await device.signedIn()
        await device.store.fail(load: TokenStoreError(code))
        let client = try device.launch()
        _ = await #expect(throws: GatehouseError.self) { try await client.session.start() }
        return client
    }

    private var isRevoked: Bool { device.server.state.withLock { $0.chains["session1"]?.isRevoked == true } }

    @Test(
        "It ends here at once, and at the server when the session can be read",
        arguments: [TokenStoreError.Code.userPresenceNeeded, .deviceLocked])
    func ends(code: TokenStoreError.Code) async throws {
        let client = try await locked(code)
        try await client.signOut()
        #expect(await client.session.state == .signedOut(reason: .user))
        try await client.signOut()
        #expect(device.telemetry.count(.sessionEnded, reason: "user") == 1)
        #expect(!isRevoked)
        // The app comes to the foreground: the session is still locked, and the user still signed out.
        try await client.session.start()
        #expect(await client.session.state == .signedOut(reason: .user))
        let error = await #expect(throws: GatehouseError.self) { try await client.session.accessToken() }
        #expect(error?.kind == .signedOut)

        await device.store.fail()
        try await client.session.unlock(reason: "r")
        try await until("the server knows") { isRevoked }
        try await until("nothing is left") { await device.store.stored == StoredState() }
        #expect(await client.session.state == .signedOut(reason: .user))
        #expect(await !device.store.hasSignOutPending)
    }

    @Test("The next process does not restore it, readable or not", arguments: [true, false])
    func nextLaunch(isReadable: Bool) async throws {
        try await locked(.userPresenceNeeded).signOut()
        if isReadable { await device.store.fail() }
        let next = try device.launch()
        try await next.session.start()
        #expect(await next.session.state == .signedOut(reason: nil))
        if !isReadable { try await next.session.unlock(reason: "r") }
        try await until("the server knows") { isRevoked }
        #expect(await next.session.state == .signedOut(reason: nil))
    }

    @Test("Without a network the sign-out is stored as soon as the session can be read") func offline() async throws {
        let client = try await locked(.userPresenceNeeded)
        device.connectivity.turn(online: false)
        try await client.signOut()
        try await client.session.unlock(reason: "r")
        #expect(await device.store.stored == StoredState(pendingLogouts: [Redacted("refresh.session1.0")]))
        #expect(await !device.store.hasSignOutPending)
    }

    @Test("A sign-in replaces the session that cannot be read, and stays") func signIn() async throws {
        let client = try await locked(.userPresenceNeeded)
        try await client.signOut()
        try await client.begin("bob@example.com")
        #expect(await client.session.state.user?.email == "bob@example.com")
        await device.store.fail()
        let next = try device.launch()
        try await next.session.start()
        #expect(await next.session.state.user?.email == "bob@example.com")
    }

    @Test("A process that has the session in memory is signed out with its next refresh") func otherProcess()
        async throws
    {
        let other = try await device.signedIn()
        await device.store.fail(load: TokenStoreError(.userPresenceNeeded))
        try await device.launch().signOut()
        await device.store.fail()
        device.clock.advance(by: .seconds(3601))
        let error = await #expect(throws: GatehouseError.self) { try await other.session.accessToken() }
        #expect(error?.kind == .sessionEnded)
        #expect(await other.session.state == .signedOut(reason: .otherProcess))
        #expect(device.server.count("/v1/auth/refresh") == 0)
    }

    @Test("If the sign-out cannot be recorded, the session stays locked, and the caller gets the error")
    func notRecorded() async throws {
        let client = try await locked(.userPresenceNeeded)
        await device.store.failSignOut(with: TokenStoreError(.failed, "errno 28"))
        let error = await #expect(throws: GatehouseError.self) { try await client.signOut() }
        #expect(error?.kind == .storage)
        #expect(await client.session.state == .locked(.userPresence))
    }

    @Test("Companions hear of it, so that what they keep of the session goes") func companions() async throws {
        final class Companion: SessionCompanion {
            let gate = Gate()
            func sessionBegan(_ user: GatehouseClient.User) {}
            func sessionEnded(_ reason: SignOutReason) async { await gate.open() }
        }
        let client = try await locked(.userPresenceNeeded)
        let companion = Companion()
        await client.session.add(companion)
        try await client.signOut()
        await companion.gate.pass()
    }
}
