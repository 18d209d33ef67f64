import Foundation
import Synchronization
import Testing

@testable import GatehouseClient

@Suite("A session that an earlier installation of the app has left")
struct ReinstallTests {
    /// A device on which a user was signed in before the app was installed again.
    private func reinstalled() async throws -> TestDevice {
        let device = TestDevice()
        _ = try await device.signedIn()
        await device.store.reinstall()
        return device
    }

    @Test("It ends at the server, and no user is signed in")
    func ends() async throws {
        let device = try await reinstalled()
        let client = try device.launch()
        try await client.session.start()
        #expect(await client.session.state == .signedOut(reason: nil))
        try await until("the server has ended it") { device.hasEnded }
        await client.session.settle()
        #expect(await device.store.stored?.pendingLogouts == [])
    }

    @Test("Without a network it ends later, also by another process, and delays no start and no sign-in")
    func offline() async throws {
        let device = try await reinstalled()
        device.connectivity.turn(online: false)
        try await device.launch().session.start()
        #expect(await device.store.stored?.pendingLogouts.count == 1)
        #expect(!device.hasEnded)
        device.connectivity.turn(online: true)
        let client = try await device.signedIn("bob@example.com")
        try await until("the server has ended it") { device.hasEnded }
        #expect(await client.session.state.user?.email == "bob@example.com")
    }

    @Test("A record that cannot be written, damaged bytes, and those of another server stop no start")
    func failures() async throws {
        let unwritable = try await reinstalled()
        await unwritable.store.fail(save: TokenStoreError(.failed))
        let client = try unwritable.launch()
        try await client.session.start()
        #expect(await client.session.state == .signedOut(reason: nil))
        try await until("the server has ended it") { unwritable.hasEnded }

        let damaged = TestDevice(store: FaultyStore(data: Data("{".utf8)))
        await damaged.store.reinstall()
        try await damaged.launch().session.start()

        let moved = try await reinstalled()
        let elsewhere = try moved.launch(at: "https://other.example.com")
        try await elsewhere.session.start()
        await elsewhere.session.settle()
        #expect(await elsewhere.session.state == .signedOut(reason: nil))
        #expect(moved.server.state.withLock { $0.requests.filter { $0.contains("logout") } } == [])
    }
}

extension TestDevice {
    /// Whether the first session has ended at the server.
    fileprivate var hasEnded: Bool { server.state.withLock { $0.chains["session1"]?.isRevoked == true } }
}
