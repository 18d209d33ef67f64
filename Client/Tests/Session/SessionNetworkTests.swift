import Foundation
import Synchronization
import Testing

@testable import GatehouseClient

@Suite("A session when the network returns") struct SessionNetworkTests {
    private let device = TestDevice()

    @Test("A verification that failed at launch is made once when the network returns") func checks() async throws {
        _ = try await device.signedIn()
        device.server.state.withLock { $0.chains["session1"]?.user.displayName = "Ada" }
        device.connectivity.turn(online: false)
        let client = try device.launch()
        try await client.session.start()
        device.connectivity.turn(online: true)
        try await until("the user is up to date") { await client.session.state.user?.displayName == "Ada" }

        device.connectivity.turn(online: false)
        device.connectivity.turn(online: true)
        // A logout is told after that: when it has been, the check would have been made.
        device.connectivity.turn(online: false)
        try await client.session.end(.user)
        device.connectivity.turn(online: true)
        try await until("the server knows") { device.server.count("/v1/auth/logout") == 1 }
        #expect(device.server.count("/v1/auth/me") == 1)
    }

    @Test("A session that was ended meanwhile ends then") func ended() async throws {
        _ = try await device.signedIn()
        device.connectivity.turn(online: false)
        let client = try device.launch()
        try await client.session.start()
        device.server.revokeAll()
        device.connectivity.turn(online: true)
        try await until("it has ended") { await client.session.state == .signedOut(reason: .endedByServer) }
    }

    @Test("A program that does not check at launch does not then") func unwanted() async throws {
        _ = try await device.signedIn()
        device.connectivity.turn(online: false)
        let client = try device.launch(checksAtLaunch: false)
        try await client.session.start()
        try await client.session.end(.user)
        device.connectivity.turn(online: true)
        try await until("the server knows") { device.server.count("/v1/auth/logout") == 1 }
        #expect(device.server.count("/v1/auth/me") == 0)
    }

    @Test("A logout is told without another launch") func logout() async throws {
        let client = try await device.signedIn()
        device.connectivity.turn(online: false)
        try await client.session.end(.user)
        #expect(device.server.count("/v1/auth/logout") == 0)
        device.connectivity.turn(online: true)
        try await until("it is forgotten") { await device.store.stored == StoredState() }
        #expect(device.server.state.withLock { $0.chains.values.allSatisfy(\.isRevoked) })
    }

    @Test("A client that is let go leaves nothing behind") func released() async throws {
        weak var session: GatehouseSession?
        do {
            let client = try await device.signedIn()
            session = client.session
            try await until("it follows the network") { device.connectivity.listening == 1 }
            device.connectivity.turn(online: true)
            var changes = client.session.changes().makeAsyncIterator()
            _ = await changes.next()
            #expect(session != nil)
        }
        try await until("the session has gone") { session == nil }
        try await until("no session listens") { device.connectivity.listening == 0 }
    }
}
