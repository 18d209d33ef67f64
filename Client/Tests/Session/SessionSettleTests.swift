import Foundation
import Synchronization
import Testing

@testable import GatehouseClient

@Suite("A process that is about to end") struct SessionSettleTests {
    @Test("It waits for the tokens that are being fetched, and they are stored") func waits() async throws {
        let (clock, gate) = (ManualClock(), Gate())
        let device = TestDevice(clock: clock, server: FakeGatehouse(clock: clock, gate: gate))
        let client = try await device.signedIn()
        // They still serve, and are renewed meanwhile.
        clock.advance(by: .seconds(3400))
        _ = try await client.session.accessToken()
        await gate.untilSomebodyArrives()
        #expect(await client.session.isRefreshing)
        let settled = Mutex(false)
        async let settling: Void = {
            await client.session.settle()
            settled.withLock { $0 = true }
        }()
        #expect(await device.store.stored?.session?.refreshToken.value == "refresh.session1.0")
        #expect(!settled.withLock { $0 })
        await gate.open()
        await settling
        #expect(await device.store.stored?.session?.refreshToken.value == "refresh.session1.1")
        #expect(await !client.session.isRefreshing)
    }

    @Test("Where nothing is under way it returns at once") func nothing() async throws {
        let client = try await TestDevice().signedIn()
        await client.session.settle()
        try await client.session.end(.user)
        await client.session.settle()
        await (try TestDevice().launch()).session.settle()
    }

    @Test("It also returns after a refresh that a sign-out, a sign-in or the server has ended", arguments: 0..<3)
    func ended(by way: Int) async throws {
        let (clock, gate) = (ManualClock(), Gate())
        let device = TestDevice(clock: clock, server: FakeGatehouse(clock: clock, gate: gate))
        let client = try await device.signedIn()
        clock.advance(by: .seconds(3601))
        let waiting = Task { try await client.session.accessToken() }
        await gate.untilSomebodyArrives()
        switch way {
        case 0: try await client.session.end(.user)
        case 1: try await client.begin("bob@example.com")
        default: device.server.revokeAll()
        }
        await gate.open()
        await client.session.settle()
        #expect(await client.session.refreshing == nil)
        _ = await waiting.result
    }

    @Test("Logouts are told first, if that does not take long") func logouts() async throws {
        let (clock, gate) = (ManualClock(), Gate())
        let device = TestDevice(clock: clock, server: FakeGatehouse(clock: clock, gate: gate, at: "/v1/auth/logout"))
        let client = try await device.signedIn()
        try await client.begin("bob@example.com")
        await gate.untilSomebodyArrives()
        async let settling: Void = client.session.settle()
        await gate.open()
        await settling
        #expect(await device.store.stored?.pendingLogouts.isEmpty == true)
    }

    @Test("A server that does not answer keeps no caller for longer than five seconds") func noAnswer() async throws {
        let (clock, gate) = (ManualClock(), Gate())
        let device = TestDevice(clock: clock, server: FakeGatehouse(clock: clock, gate: gate, at: "/v1/auth/logout"))
        let client = try await device.signedIn()
        try await client.begin("bob@example.com")
        await gate.untilSomebodyArrives()
        let settled = Mutex(false)
        let settling = Task {
            await client.session.settle()
            settled.withLock { $0 = true }
        }
        try await until("it has gone on") {
            clock.advance(by: .seconds(1))
            return settled.withLock { $0 }
        }
        await settling.value
        #expect(await device.store.stored?.pendingLogouts.count == 1)
        await gate.open()
    }
}
