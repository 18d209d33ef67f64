import Foundation
import GatehouseAccessTokens
import GatehouseServiceContracts
import Postgres
import TestKit
import Testing

@testable import TokensService

extension ServiceTests {
    /// When and how users authenticated, as access tokens tell it.
    @Suite struct AuthenticationTests {
        private static func claims(_ accessToken: String) throws -> AccessTokenClaims {
            let keys = try VerificationKeySet(keys: [TokensFixture.signingKey.publicKey])
            let verifier = try AccessTokenVerifier(
                issuer: "http://gatehouse.localhost", audience: "gatehouse", keys: keys)
            return try verifier.verify(accessToken, now: 0)
        }

        private static func create(
            _ tokens: RunningTokens, _ id: UUID? = nil, _ user: User = .sample(), by methods: [AuthenticationMethod]?
        ) async throws -> TestHTTPClient.Response {
            try await tokens.client.post(
                "/internal/sessions",
                json: CreateSessionRequest(
                    sessionID: id ?? .session(of: user.id), snapshot: UserSnapshot(user: user, version: 1),
                    credentialsVersion: 1, signInAge: 0, authenticationMethods: methods),
                headers: RunningTokens.identity)
        }

        private static func renew(
            _ tokens: RunningTokens, _ session: UUID, of user: UUID, by methods: [AuthenticationMethod]
        ) async throws -> TestHTTPClient.Response {
            try await tokens.client.send(
                "PUT", "/internal/sessions/\(session)/authentication",
                headers: RunningTokens.identity.merging(["Content-Type": "application/json"]) { $1 },
                body: try JSON.encode(RenewAuthenticationRequest(userID: user, methods: methods)))
        }

        /// Moves the authentications of all sessions into the past.
        private static func age(_ tokens: RunningTokens, by seconds: Int) async throws {
            try await tokens.pool.query(
                "UPDATE sessions SET authenticated_at = authenticated_at - make_interval(secs => \(Double(seconds)))")
        }

        @Test func anAuthenticationSurvivesRefreshesUnchanged() async throws {
            try await RunningTokens.with { tokens in
                let created = try await Self.create(tokens, by: [.oneTimeCode, .textMessage])
                let first = try created.decode(AuthResponse.self)
                let original = try Self.claims(first.accessToken)
                #expect(
                    original.authenticationTime == original.issuedAt
                        && original.authenticationMethods == ["otp", "sms"])

                try await Self.age(tokens, by: 1000)
                var token = first.refreshToken
                for _ in 0..<3 {
                    let auth = try await tokens.refresh(token).decode(AuthResponse.self)
                    let claims = try Self.claims(auth.accessToken)
                    #expect(
                        claims.authenticationTime == original.authenticationTime.map { $0 - 1000 }
                            && claims.authenticationMethods == ["otp", "sms"])
                    // The same successor again, as for a lost answer.
                    let again = try await tokens.refresh(token).decode(AuthResponse.self)
                    #expect(again.refreshToken == auth.refreshToken)
                    #expect(try Self.claims(again.accessToken).authenticationTime == claims.authenticationTime)
                    token = auth.refreshToken
                }
                struct OAuthAnswer: Decodable { var access_token: String }
                let form = "grant_type=refresh_token&client_id=com.example.app&refresh_token=\(token)"
                let oauth = try await tokens.client.post(
                    "/oauth/token", text: form, headers: ["Content-Type": "application/x-www-form-urlencoded"])
                let claims = try Self.claims(oauth.decode(OAuthAnswer.self).access_token)
                #expect(
                    claims.authenticationTime == original.authenticationTime.map { $0 - 1000 }
                        && claims.authenticationMethods == ["otp", "sms"])
            }
        }

        @Test func aNewProofStandsInTheNextAccessToken() async throws {
            try await RunningTokens.with { tokens in
                let user = User.sample()
                let id = UUID.session(of: user.id)
                let first = try await Self.create(tokens, id, user, by: [.password]).decode(AuthResponse.self)
                let other = try await Self.create(tokens, by: [.password]).decode(AuthResponse.self)
                try await Self.age(tokens, by: 1000)
                let old = try await tokens.refresh(first.refreshToken).decode(AuthResponse.self)
                let before = try Self.claims(old.accessToken)
                #expect(before.issuedAt - (before.authenticationTime ?? .max) >= 1000)

                #expect(try await Self.renew(tokens, id, of: user.id, by: [.apple]).status == 204)
                // Also where the answer to the refresh before was lost.
                for token in [first.refreshToken, old.refreshToken] {
                    let auth = try await tokens.refresh(token).decode(AuthResponse.self)
                    let claims = try Self.claims(auth.accessToken)
                    #expect(
                        claims.issuedAt - (claims.authenticationTime ?? 0) < 500
                            && claims.authenticationMethods == ["apple"])
                }
                let others = try await tokens.refresh(other.refreshToken).decode(AuthResponse.self)
                #expect(
                    try Self.claims(others.accessToken).authenticationMethods == ["pwd"], "another session is as it was"
                )
            }
        }

        @Test func onlyTheUsersOwnLivingSessionIsRenewed() async throws {
            try await RunningTokens.with { tokens in
                let user = User.sample()
                let id = UUID.session(of: user.id)
                let auth = try await Self.create(tokens, id, user, by: [.password]).decode(AuthResponse.self)
                #expect(try await Self.renew(tokens, id, of: UUID(), by: [.apple]).code == "NOT_FOUND")
                #expect(try await Self.renew(tokens, UUID(), of: user.id, by: [.apple]).code == "NOT_FOUND")
                let unfit: [[AuthenticationMethod]] = [
                    [], [.init(rawValue: "")], [.init(rawValue: "a b")], [.init(rawValue: "a\r\nb")],
                    [.init(rawValue: String(repeating: "a", count: 33))], Array(repeating: .apple, count: 9),
                ]
                for methods in unfit {
                    let refused = try await Self.renew(tokens, id, of: user.id, by: methods)
                    #expect(try refused.problem().errors?.map(\.field) == ["methods"], "\(methods)")
                    if methods.isEmpty { continue }
                    let created = try await Self.create(tokens, by: methods)
                    #expect(try created.problem().errors?.map(\.field) == ["authenticationMethods"], "\(methods)")
                }
                let refreshed = try await tokens.refresh(auth.refreshToken).decode(AuthResponse.self)
                #expect(try Self.claims(refreshed.accessToken).authenticationMethods == ["pwd"])
                try await tokens.age(by: 3_000_000)
                #expect(try await Self.renew(tokens, id, of: user.id, by: [.apple]).code == "NOT_FOUND")
                #expect(try await tokens.count("sessions WHERE 'apple' = ANY (authentication_methods)") == 0)
            }
        }
    }
}
