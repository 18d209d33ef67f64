import Foundation
import GatehouseAccessTokens
import GatehouseServiceContracts
import TestKit
import Testing

@testable import TokensService

extension ServiceTests {
    @Suite struct OAuthRouteTests {
        private struct Answer: Decodable {
            var error: String?
            var access_token: String?
            var refresh_token: String?
            var token_type: String?
            var expires_in: Int?
        }

        private func post(
            _ tokens: RunningTokens, _ path: String, _ form: String
        ) async throws -> TestHTTPClient.Response {
            try await tokens.client.post(
                path, text: form, headers: ["Content-Type": "application/x-www-form-urlencoded"])
        }

        @Test func aStockLibraryRefreshesAndRevokes() async throws {
            try await RunningTokens.with { tokens in
                let first = try await tokens.signIn().auth.refreshToken
                let grant = "grant_type=refresh_token&client_id=com.example.app&refresh_token="
                let response = try await post(tokens, "/oauth/token", grant + first)
                #expect(response.status == 200)
                #expect(response.header("Cache-Control") == "no-store")
                let answer = try response.decode(Answer.self)
                #expect(answer.token_type == "Bearer")
                #expect(answer.access_token != nil)
                #expect((answer.expires_in ?? 0) > 3000)
                let second = try #require(answer.refresh_token)
                let revoked = try await post(
                    tokens, "/oauth/revoke", "token=\(second)&token_type_hint=refresh_token")
                #expect(revoked.status == 200)
                #expect(try await post(tokens, "/oauth/revoke", "token=unknown").status == 200)
                let refused = try await post(tokens, "/oauth/token", grant + second)
                #expect(refused.status == 400)
                #expect(try refused.decode(Answer.self).error == "invalid_grant")
            }
        }

        /// RFC 7009 §2: an access token cannot end without its session.
        @Test func revokingAnAccessTokenEndsItsSession() async throws {
            try await RunningTokens.with { tokens in
                let session = try await tokens.signIn()
                let stranger = try await tokens.signIn()
                let claims = AccessTokenClaims(
                    issuer: "http://gatehouse.localhost", audience: "gatehouse", subject: session.auth.user.id,
                    sessionID: session.sessionID, issuedAt: 1_700_000_000, expiresAt: 1_700_000_100,
                    clientID: "com.example.app", role: "courier")
                let expired = try AccessTokenSigner(key: TokensFixture.signingKey).sign(claims)
                var own = claims
                (own.expiresAt, own.subject) = (4_000_000_000, UUID())
                let anothers = try AccessTokenSigner(key: TokensFixture.signingKey).sign(own)
                for token in [expired, anothers, session.auth.accessToken + "A"] {
                    #expect(try await post(tokens, "/oauth/revoke", "token=\(token)").status == 200)
                }
                #expect(try await tokens.count("sessions") == 2)
                let revoked = try await post(
                    tokens, "/oauth/revoke", "token=\(session.auth.accessToken)&token_type_hint=access_token")
                #expect(revoked.status == 200)
                #expect(try await tokens.refresh(session.auth.refreshToken).code == "INVALID_REFRESH_TOKEN")
                #expect(try await tokens.refresh(stranger.auth.refreshToken).status == 200)
                #expect(try await tokens.count("\(revocations) WHERE reason = 'logout'") == 1)
            }
        }

        /// RFC 7009 §2.2.1: the client is to try again.
        @Test func aRevocationIsNotConfirmedDuringAnOutage() async throws {
            try await withPostgresServer { server in
                try await RunningTokens.with(databaseURL: server.url()) { tokens in
                    let session = try await tokens.signIn().auth
                    await server.kill()
                    for token in [session.refreshToken, session.accessToken] {
                        let response = try await post(tokens, "/oauth/revoke", "token=\(token)")
                        #expect(response.status == 503)
                        #expect(response.header("Retry-After") != nil)
                        #expect(try response.decode(Answer.self).error == "temporarily_unavailable")
                    }
                }
            }
        }

        @Test func refusalsHaveTheStandardsForm() async throws {
            try await RunningTokens.with { tokens in
                for (form, error) in [
                    ("", "invalid_request"), ("grant_type=refresh_token", "invalid_request"),
                    ("grant_type=refresh_token&refresh_token=", "invalid_request"),
                    ("grant_type=password&username=a", "unsupported_grant_type"),
                    ("grant_type=refresh_token&refresh_token=x", "invalid_grant"),
                    ("grant_type=refresh_token&refresh_token=x&scope=all", "invalid_scope"),
                    ("grant_type=refresh_token&refresh_token=x&client_id=other", "invalid_client"),
                    ("grant_type=refresh_token&grant_type=refresh_token&refresh_token=x", "invalid_request"),
                    ("grant_type=%zz", "invalid_request"),
                ] {
                    let response = try await post(tokens, "/oauth/token", form)
                    #expect(response.status == 400, "\(form)")
                    #expect(try response.decode(Answer.self).error == error, "\(form)")
                }
                let session = try await tokens.signIn().auth.refreshToken
                for (form, error) in [
                    ("token_type_hint=refresh_token", "invalid_request"), ("token=", "invalid_request"),
                    ("token=\(session)&client_id=other", "invalid_client"),
                ] {
                    let response = try await post(tokens, "/oauth/revoke", form)
                    #expect(response.status == 400, "\(form)")
                    #expect(try response.decode(Answer.self).error == error, "\(form)")
                }
                let optional = try await post(
                    tokens, "/oauth/token", "grant_type=refresh_token&refresh_token=\(session)")
                #expect(optional.status == 200, "client_id is optional, and a wrong one revoked nothing")
                let json = try await tokens.client.post("/oauth/token", text: "{}")
                #expect(try json.decode(Answer.self).error == "invalid_request")
            }
        }

        /// `invalid_grant` would make a client sign its user out.
        @Test func anOutageIsTemporary() async throws {
            try await withPostgresServer { server in
                try await RunningTokens.with(databaseURL: server.url()) { tokens in
                    let token = try await tokens.signIn().auth.refreshToken
                    await server.kill()
                    let response = try await post(
                        tokens, "/oauth/token", "grant_type=refresh_token&refresh_token=\(token)")
                    #expect(response.status == 503)
                    #expect(response.header("Retry-After") != nil)
                    #expect(try response.decode(Answer.self).error == "temporarily_unavailable")
                }
            }
        }
    }
}
