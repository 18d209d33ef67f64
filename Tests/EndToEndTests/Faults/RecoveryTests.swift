import Foundation
import GatehouseServiceContracts
import TestKit
import Testing

extension ImpatientFaultTests {
    /// What is killed and comes back is used again without a restart of anything else.
    @Suite struct Recovery {
        let system = GatehouseSystem.current
        var journey: Journey { system.journey }

        @Test func postgresKilledAndRestarted() async throws {
            let session = try await journey.register()
            await system.postgres.kill()
            let refused = try await journey.refresh(session.refreshToken)
            #expect(refused.code == "UNAVAILABLE", "\(refused.status) \(refused.text)")
            #expect(refused.header("retry-after") != nil)
            let me = try await journey.me(session.accessToken)
            #expect(me.status == 503, "\(me.text)")

            try await system.postgres.restart()
            try await expectUsable(session)
        }

        @Test func redisKilledStoppedAndRestarted() async throws {
            var session = try await journey.register()
            await system.redis.kill()
            session = try await refreshed(session)
            #expect(try await journey.me(session.accessToken).status == 200)
            _ = try await journey.register()
            try await system.redis.restart()
            session = try await refreshed(session)
            await system.redis.freeze()
            session = try await refreshed(session)
            _ = try await journey.register()
            await system.redis.thaw()
            try await expectUsable(session)
        }

        @Test(arguments: ["tokens", "identity", "devices", "gateway"])
        func serviceKilledAndRestarted(name: String) async throws {
            let session = try await journey.register()
            await system.process(name).kill()
            switch name {
            case "tokens":
                #expect(try await journey.refresh(session.refreshToken).code == "UNAVAILABLE")
                #expect(try await journey.me(session.accessToken).status == 200)
            case "identity":
                #expect(try await journey.me(session.accessToken).code == "UNAVAILABLE")
                #expect(try await journey.refresh(session.refreshToken).status == 200)
            case "devices":
                #expect(
                    try await journey.api.call("GET", "/v1/devices", bearer: session.accessToken).code == "UNAVAILABLE")
                #expect(try await journey.me(session.accessToken).status == 200)
            default:
                await #expect(throws: (any Error).self) { try await journey.me(session.accessToken) }
            }
            try await system.process(name).start()
            try await expectUsable(session)
        }

        private func refreshed(_ session: AuthResponse) async throws -> AuthResponse {
            let answer = try await journey.refresh(session.refreshToken)
            try #require(answer.status == 200, "\(answer.text)")
            return try answer.decode(AuthResponse.self)
        }

        /// Every service serves this session again, and new ones begin.
        private func expectUsable(_ session: AuthResponse) async throws {
            try await eventually("refresh works") { try await journey.refresh(session.refreshToken).status == 200 }
            try await eventually("the profile is served") {
                try await journey.me(session.accessToken).status == 200
            }
            try await eventually("devices are served") {
                try await journey.api.call("GET", "/v1/devices", bearer: session.accessToken).status == 200
            }
            try await eventually("users register") {
                try await journey.api.call(
                    "POST", "/v1/auth/register",
                    json: RegisterRequest(identifier: Journey.uniqueEmail(), password: Journey.password)
                ).status == 201
            }
        }
    }
}
