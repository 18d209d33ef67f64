import Foundation
import GatehouseServiceContracts
import TestKit
import Testing

@testable import TokensService

extension ServiceTests {
    @Suite struct LogoutRouteTests {
        private func logout(
            _ tokens: RunningTokens, _ token: String? = nil, headers: [String: String] = [:]
        ) async throws -> TestHTTPClient.Response {
            try await tokens.client.post(
                "/v1/auth/logout", json: LogoutRequest(refreshToken: token), headers: headers)
        }

        @Test func anyGenuineTokenEndsTheSession() async throws {
            try await RunningTokens.with { tokens in
                let first = try await tokens.signIn().auth.refreshToken
                let second = try await tokens.refresh(first).decode(AuthResponse.self).refreshToken
                let third = try await tokens.refresh(second).decode(AuthResponse.self).refreshToken
                #expect(try await logout(tokens, first).status == 204)
                #expect(try await tokens.refresh(third).code == "INVALID_REFRESH_TOKEN")
                #expect(try await logout(tokens, first).status == 204, "repeated")
                for junk in ["", "junk", "ghrt_AAAA"] { #expect(try await logout(tokens, junk).status == 204) }
            }
        }

        @Test func theBearerDecidesOnlyWhereThereIsNoToken() async throws {
            try await RunningTokens.with { tokens in
                let user = User.sample()
                let session = try await tokens.signIn(user)
                let bad = [HeaderName.credential: "gateway-secret", HeaderName.bearerError: "TOKEN_EXPIRED"]
                #expect(try await logout(tokens).code == "INVALID_REQUEST")
                #expect(try await tokens.client.post("/v1/auth/logout").code == "INVALID_REQUEST")
                let expired = try await logout(tokens, headers: bad)
                #expect(expired.code == "TOKEN_EXPIRED")
                #expect(expired.header("WWW-Authenticate")?.hasPrefix("Bearer ") == true)
                #expect(try await logout(tokens, "junk", headers: bad).status == 204)
                #expect(try await tokens.count("sessions") == 1)
                let signedIn = RunningTokens.gateway(user.id, session: session.sessionID)
                #expect(try await logout(tokens, headers: signedIn).status == 204)
                #expect(try await tokens.count("sessions") == 0)
                #expect(try await logout(tokens, headers: signedIn).status == 204, "repeated")
            }
        }

        @Test func aSignInThatHadBegunGetsNoSessionAfterwards() async throws {
            try await RunningTokens.with { tokens in
                let user = User.sample()
                let current = try await tokens.signIn(user)
                let out = try await tokens.client.post(
                    "/v1/auth/logout-all", json: LogoutAllRequest(exceptCurrent: true),
                    headers: RunningTokens.gateway(user.id, session: current.sessionID))
                #expect(out.status == 204)
                #expect(try await tokens.createSession(nil, user, age: 60).code == "UNAVAILABLE")
                #expect(try await tokens.count("sessions") == 1)
                #expect(try await tokens.createSession(nil, .sample(), age: 60).status == 200, "another user")
                // On a busy machine it takes a moment until a later sign-in counts as later.
                try await eventually("one that began since gets its session") {
                    try await tokens.createSession(nil, user).status == 200
                }
            }
        }

        @Test func allSessionsOrAllOthersEnd() async throws {
            try await RunningTokens.with { tokens in
                let user = User.sample()
                let current = try await tokens.signIn(user)
                let other = try await tokens.signIn(user)
                let stranger = try await tokens.signIn()
                let headers = RunningTokens.gateway(user.id, session: current.sessionID)
                let path = "/v1/auth/logout-all"
                #expect(try await tokens.client.post(path).code == "INVALID_TOKEN")
                let spared = try await tokens.client.post(
                    path, json: LogoutAllRequest(exceptCurrent: true), headers: headers)
                #expect(spared.status == 204)
                #expect(try await tokens.refresh(other.auth.refreshToken).status == 401)
                let kept = try await tokens.refresh(current.auth.refreshToken)
                #expect(kept.status == 200)
                #expect(try await tokens.client.post(path, headers: headers).status == 204)
                let successor = try kept.decode(AuthResponse.self).refreshToken
                #expect(try await tokens.refresh(successor).status == 401)
                #expect(try await tokens.refresh(stranger.auth.refreshToken).status == 200)
            }
        }
    }
}
