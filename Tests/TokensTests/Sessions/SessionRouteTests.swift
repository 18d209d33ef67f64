import Foundation
import GatehouseServiceContracts
import TestKit
import Testing

@testable import TokensService

extension ServiceTests {
    @Suite struct SessionRouteTests {
        @Test func aUserSeesAndEndsTheirSessions() async throws {
            try await RunningTokens.with { tokens in
                let user = User.sample()
                let phone = try await tokens.signIn(user, device: SessionDevice(name: "Phone"))
                let tablet = try await tokens.signIn(user)
                let headers = RunningTokens.gateway(user.id, session: phone.sessionID)
                let listed = try await tokens.client.get("/v1/auth/sessions", headers: headers)
                    .decode(SessionList.self).sessions
                #expect(listed.count == 2)
                let mine = try #require(listed.first { $0.current })
                #expect(mine.id == phone.sessionID)
                #expect(mine.device?.name == "Phone")
                #expect(mine.ipAddress == "192.0.2.7")
                let path = "/v1/auth/sessions/\(tablet.sessionID)"
                #expect(try await tokens.client.delete(path, headers: headers).status == 204)
                #expect(try await tokens.client.delete(path, headers: headers).code == "NOT_FOUND")
                #expect(try await tokens.refresh(tablet.auth.refreshToken).status == 401)
            }
        }

        /// A refresh updates the address; the device is known from the sign-in alone.
        @Test func theListTellsWhenAndFromWhereASessionWasUsedLast() async throws {
            try await RunningTokens.with { tokens in
                let user = User.sample()
                let session = try await tokens.signIn(user, device: SessionDevice(name: "Phone"))
                try await tokens.age(by: 100)
                let refreshed = try await tokens.client.post(
                    "/v1/auth/refresh", json: RefreshRequest(refreshToken: session.auth.refreshToken),
                    headers: [
                        HeaderName.credential: "gateway-secret", HeaderName.clientAddress: "198.51.100.4",
                    ])
                #expect(refreshed.status == 200)
                let headers = RunningTokens.gateway(user.id, session: session.sessionID)
                let listed = try await tokens.client.get("/v1/auth/sessions", headers: headers)
                    .decode(SessionList.self).sessions
                let seen = try #require(listed.first)
                #expect(seen.ipAddress == "198.51.100.4")
                #expect(seen.device?.name == "Phone")
                #expect(seen.lastUsedAt >= seen.createdAt, "no longer the time that was moved back")
                let auth = try refreshed.decode(AuthResponse.self)
                #expect(seen.expiresAt == auth.refreshExpiresAt)
            }
        }

        @Test func nobodyElseIsServed() async throws {
            try await RunningTokens.with { tokens in
                let user = User.sample()
                let session = try await tokens.signIn(user)
                var forged = RunningTokens.gateway(user.id, session: session.sessionID)
                forged[HeaderName.credential] = "guess"
                for headers in [[:], forged] {
                    #expect(try await tokens.client.get("/v1/auth/sessions", headers: headers).code == "INVALID_TOKEN")
                }
                let stranger = RunningTokens.gateway(UUID(), session: UUID())
                let path = "/v1/auth/sessions/\(session.sessionID)"
                #expect(try await tokens.client.delete(path, headers: stranger).code == "NOT_FOUND")
                #expect(try await tokens.client.delete("/v1/auth/sessions/x", headers: stranger).code == "NOT_FOUND")
                #expect(try await tokens.count("sessions") == 1)
            }
        }
    }
}
