import Foundation
import TestKit
import Testing

@testable import GatehouseClient

extension SystemTests {
    /// The library against the running system.
    @Suite struct ClientRefreshes {
        @Test("Five hundred at once with a token that only the server knows to have expired: one refresh for all")
        func fiveHundredWhoAreTold() async throws {
            let device = ClientDevice()
            _ = try await device.registered()
            try await device.storeExpiredToken()
            let client = try device.launch()
            let answers = try await answers(of: 500, by: client)
            #expect(answers == [200: 500])
            #expect(device.refreshes == 1)
            // A later request has the new token at once.
            #expect((1...501).contains(device.telemetry.count(.replay)))
        }

        @Test("Killed between the answer and the save, the next launch begins with the old token and gets the same one")
        func killedBeforeTheSave() async throws {
            let device = ClientDevice()
            _ = try await device.registered()
            // The server takes an answer that was lost long ago for bad luck, but not time after time.
            for secondsAgo in [0, 30, 120, 7200, 86_400] {
                let killed = try device.launch()
                await device.store.dropSaves()
                try await killed.session.renewOnce()
                let lost = await killed.session.machine.current?.refreshToken
                await device.store.dropSaves(false)
                try await GatehouseSystem.current.age(userID: device.userID, by: secondsAgo)

                let next = try device.launch()
                #expect(try await next.getProfile() == 200)
                #expect(try await device.stored.session?.refreshToken != lost)
                try await next.session.renewOnce()
                #expect(try await device.stored.session?.refreshToken == lost)
                #expect(await next.session.state.user != nil)
                try await next.session.renewOnce()
            }
            #expect(device.telemetry.count(.sessionEnded) == 0)
        }

        /// How many answers there were of each status.
        private func answers(of count: Int, by client: GatehouseClient) async throws -> [Int: Int] {
            try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<count { group.addTask { try await client.getProfile() } }
                return try await group.reduce(into: [:]) { $0[$1, default: 0] += 1 }
            }
        }
    }
}
