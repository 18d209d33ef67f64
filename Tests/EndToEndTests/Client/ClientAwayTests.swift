import Foundation
import TestKit
import Testing

@testable import GatehouseClient

extension SystemTests {
    @Suite struct ClientWithoutGateway {
        @Test("The gateway is away for an hour: requests fail, and go on when it is back")
        func awayForAnHour() async throws {
            try await GatehouseSystem.current.withGateway { gateway in
                try await gateway.start()
                let device = ClientDevice(gateway: gateway.url)
                let client = try await device.registered()
                #expect(try await client.getProfile() == 200)
                await gateway.stop()

                for minutes in [0, 30, 31] {
                    device.clock.advance(by: .seconds(minutes * 60))
                    #expect(await failures(of: 20, by: client) == [.unavailable])
                    #expect(await client.session.state.user != nil)
                }
                // A launch meanwhile begins signed in, too.
                let launched = try device.launch()
                try await launched.session.start()
                #expect(await launched.session.state.user != nil)

                try await gateway.start()
                let before = device.refreshes
                try await eventually("requests are served") {
                    do { return try await client.getProfile() == 200 } catch { return false }
                }
                #expect(try await launched.getProfile() == 200)
                #expect(device.refreshes > before)
                #expect(device.telemetry.count(.sessionEnded) == 0)
            }
        }

        private func failures(of count: Int, by client: GatehouseClient) async -> Set<GatehouseError.Kind> {
            await withTaskGroup(of: GatehouseError.Kind?.self) { group in
                for _ in 0..<count {
                    group.addTask {
                        do {
                            _ = try await client.getProfile()
                            return nil
                        } catch { return GatehouseError.of(error).kind }
                    }
                }
                return await group.reduce(into: []) { kinds, kind in if let kind { kinds.insert(kind) } }
            }
        }
    }
}
