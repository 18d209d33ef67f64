import Foundation
import Testing

@testable import GatehouseClient

@Suite("An account's deletion whose answer is lost") struct AccountDeletionTests {
    private let device = TestDevice()

    @Test("The retry is answered \"session ended\": the account is deleted") func retried() async throws {
        let client = try await device.signedIn()
        device.server.fault("/v1/auth/account", .answersLost(1))
        try await client.deleteAccount()
        #expect(await client.session.state == .signedOut(reason: .accountDeleted))
        #expect(device.telemetry.count(.sessionEnded) == 1)
        #expect(device.telemetry.count(.sessionEnded, reason: "accountDeleted") == 1)
        #expect(await device.store.stored == StoredState())
        #expect(device.server.count("/v1/auth/account") == 2)
    }

    @Test("All attempts are lost: an error, and the user's next one succeeds") func repeated() async throws {
        let client = try await device.signedIn()
        device.server.fault("/v1/auth/account", .answerLost)
        // The second attempt finds no session, and the server cannot be reached for the refresh.
        device.server.fault("/v1/auth/refresh", .unreachable)
        let error = await #expect(throws: GatehouseError.self) { try await client.deleteAccount() }
        #expect(error?.kind == .unavailable)
        #expect(await client.session.state.user != nil)
        device.server.fault("/v1/auth/account", .none)
        device.server.fault("/v1/auth/refresh", .none)
        try await client.deleteAccount()
        #expect(await client.session.state == .signedOut(reason: .accountDeleted))
    }

    @Test("Another request learns of it first: the session ends as deleted, and the user's next attempt succeeds")
    func learnedElsewhere() async throws {
        let client = try await device.signedIn()
        device.server.fault("/v1/auth/account", .answerLost)
        device.server.fault("/v1/auth/refresh", .unreachable)
        _ = await #expect(throws: GatehouseError.self) { try await client.deleteAccount() }
        device.server.fault("/v1/auth/refresh", .none)
        _ = await #expect(throws: GatehouseError.self) { try await client.me() }
        #expect(await client.session.state == .signedOut(reason: .accountDeleted))
        try await client.deleteAccount()
    }

    @Test("All attempts are lost and the app restarts: the session ends as deleted") func restarted() async throws {
        let client = try await device.signedIn()
        device.server.fault("/v1/auth/account", .answerLost)
        device.server.fault("/v1/auth/refresh", .unreachable)
        _ = await #expect(throws: GatehouseError.self) { try await client.deleteAccount() }
        device.server.fault("/v1/auth/refresh", .none)
        try await expectEnd(.accountDeleted, afterRestartOf: device)
    }

    @Test("The process ends before the answer arrives: the session ends as deleted") func killed() async throws {
        let (clock, gate) = (ManualClock(), Gate())
        let device = TestDevice(clock: clock, server: FakeGatehouse(clock: clock, gate: gate, at: "/v1/auth/account"))
        let client = try await device.signedIn()
        async let deletion: Void = client.deleteAccount()
        await gate.untilSomebodyArrives()
        device.server.revokeAll()
        try await expectEnd(.accountDeleted, afterRestartOf: device.withOwnNetwork())
        await gate.open()
        _ = try? await deletion
    }

    @Test("A new token after a lost answer shows that the account exists, also to later launches")
    func renewedAfterLoss() async throws {
        let client = try await device.signedIn()
        device.server.fault("/v1/auth/account", .status(500))
        _ = await #expect(throws: GatehouseError.self) { try await client.deleteAccount() }
        device.clock.advance(by: .seconds(3601))
        _ = try await client.session.accessToken()
        device.server.revokeAll()
        try await expectEnd(.endedByServer, afterRestartOf: device)
    }

    private func expectEnd(_ reason: SignOutReason, afterRestartOf device: TestDevice) async throws {
        let client = try device.launch(checksAtLaunch: false)
        _ = await #expect(throws: GatehouseError.self) { try await client.me() }
        #expect(await client.session.state == .signedOut(reason: reason))
    }

    @Test("A session that the server ended before is no deletion") func endedBefore() async throws {
        let client = try await device.signedIn()
        device.server.revokeAll()
        let error = await #expect(throws: GatehouseError.self) { try await client.deleteAccount() }
        #expect(error?.kind == .sessionEnded)
        #expect(await client.session.state == .signedOut(reason: .endedByServer))
    }

    @Test("Nor is one that it ends after it has refused the deletion, or has not got the request")
    func refused() async throws {
        for fault in [FakeGatehouse.Fault.status(403), .unreachable] {
            let device = TestDevice()
            let client = try await device.signedIn()
            device.server.fault("/v1/auth/account", fault)
            _ = await #expect(throws: GatehouseError.self) { try await client.deleteAccount() }
            device.server.revokeAll()
            try await expectEnd(
                .endedByServer,
                afterRestartOf: TestDevice(
                    store: FaultyStore(data: await device.store.data), clock: device.clock, server: device.server))
            device.server.fault("/v1/auth/account", .none)
            _ = await #expect(throws: GatehouseError.self) { try await client.deleteAccount() }
            #expect(await client.session.state == .signedOut(reason: .endedByServer))
        }
    }

    @Test("A refusal after a lost answer shows that the account exists") func refusedAfterLoss() async throws {
        let client = try await device.signedIn()
        device.server.fault("/v1/auth/account", .status(500))
        _ = await #expect(throws: GatehouseError.self) { try await client.deleteAccount() }
        device.server.fault("/v1/auth/account", .status(403))
        _ = await #expect(throws: GatehouseError.self) { try await client.deleteAccount() }
        device.server.revokeAll()
        device.clock.advance(by: .seconds(3601))
        _ = await #expect(throws: GatehouseError.self) { try await client.session.accessToken() }
        #expect(await client.session.state == .signedOut(reason: .endedByServer))
    }
}
