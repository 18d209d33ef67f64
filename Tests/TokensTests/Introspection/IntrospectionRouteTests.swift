import Foundation
import GatehouseAccessTokens
import GatehouseServiceContracts
import TestKit
import Testing

@testable import TokensService

extension ServiceTests {
    @Suite struct IntrospectionRouteTests {
        private struct Activity: Decodable { var active: Bool }

        private static let path = "/internal/oauth/introspect"
        private static let settings = ["TOKENS_INTROSPECTION_CREDENTIALS": "introspection-secret,introspection-2"]

        private static func basic(_ pair: String) -> String { "Basic " + Data(pair.utf8).base64EncodedString() }

        private static func introspect(
            _ tokens: RunningTokens, _ token: String,
            authorization: String = basic("introspection:introspection-secret")
        ) async throws -> TestHTTPClient.Response {
            let allowed = CharacterSet.alphanumerics.union(CharacterSet(charactersIn: "-._~"))
            let value = token.addingPercentEncoding(withAllowedCharacters: allowed) ?? ""
            return try await tokens.client.post(
                path, text: "token=\(value)",
                headers: ["Content-Type": "application/x-www-form-urlencoded", "Authorization": authorization])
        }

        private static func members(_ answer: TestHTTPClient.Response) throws -> [String: Any] {
            try #require(try JSONSerialization.jsonObject(with: answer.body) as? [String: Any])
        }

        private static func isActive(_ tokens: RunningTokens, _ token: String) async throws -> Bool {
            let answer = try await introspect(tokens, token)
            try #require(answer.status == 200, "\(answer.text)")
            return try answer.decode(Activity.self).active
        }

        @Test func anAccessTokenIsToldOfWhileItAndItsSessionLive() async throws {
            try await RunningTokens.with(settings: Self.settings) { tokens in
                let user = User.sample()
                let session = try await tokens.signIn(user)
                let answer = try await Self.introspect(tokens, session.auth.accessToken)
                #expect(answer.status == 200)
                #expect(answer.header("Content-Type") == "application/json")
                #expect(answer.header("Cache-Control") == "no-store")
                let members = try Self.members(answer)
                #expect(members["active"] as? Bool == true)
                #expect(members["token_type"] as? String == "Bearer")
                #expect(members["token_use"] as? String == "access_token")
                #expect(members["iss"] as? String == "http://gatehouse.localhost")
                #expect(members["aud"] as? String == "gatehouse")
                #expect(members["client_id"] as? String == "com.example.app")
                #expect(members["sub"] as? String == user.id.uuidString.lowercased())
                #expect(members["sid"] as? String == session.sessionID.uuidString.lowercased())
                #expect(members["role"] as? String == "courier")
                #expect(members["store_ids"] as? [String] == user.storeIds)
                #expect((members["jti"] as? String).flatMap(UUID.init) != nil)
                let (issued, expires) = (members["iat"] as? Int ?? 0, members["exp"] as? Int ?? 0)
                #expect(Double(expires) == session.auth.expiresAt.timeIntervalSince1970)
                #expect(expires - issued == session.auth.expiresIn)
                #expect(members["auth_time"] as? Int == issued && members["amr"] as? [String] == ["pwd"])
                // A refresh ends neither session nor token; a logout ends both.
                let second = try await tokens.refresh(session.auth.refreshToken).decode(AuthResponse.self)
                for token in [session.auth.accessToken, second.accessToken] {
                    #expect(try await Self.isActive(tokens, token))
                }
                _ = try await tokens.client.post(
                    "/v1/auth/logout", json: LogoutRequest(refreshToken: second.refreshToken))
                for token in [session.auth.accessToken, second.accessToken, second.refreshToken] {
                    #expect(try await !Self.isActive(tokens, token))
                }
            }
        }

        @Test func aRefreshTokenIsToldOfWhileARefreshWouldSucceed() async throws {
            try await RunningTokens.with(settings: Self.settings) { tokens in
                let session = try await tokens.signIn()
                let first = session.auth.refreshToken
                let members = try Self.members(try await Self.introspect(tokens, first))
                #expect(members["active"] as? Bool == true)
                #expect(members["token_use"] as? String == "refresh_token")
                #expect(members["token_type"] == nil, "it is no bearer")
                #expect(members["client_id"] as? String == "com.example.app")
                #expect(members["sid"] as? String == session.sessionID.uuidString.lowercased())
                #expect(
                    Double(members["exp"] as? Int ?? 0) == session.auth.refreshExpiresAt.timeIntervalSince1970)
                #expect(members["iat"] is Int)

                let second = try await tokens.refresh(first).decode(AuthResponse.self).refreshToken
                #expect(try await Self.isActive(tokens, first), "the predecessor is answered again")
                #expect(try await Self.isActive(tokens, second))
                let third = try await tokens.refresh(second).decode(AuthResponse.self).refreshToken
                try await tokens.age(by: 61)
                #expect(try await Self.isActive(tokens, second), "a late replay")
                // An older token, with which a refresh would end the session. Introspection ends nothing and counts
                // nothing.
                #expect(try await !Self.isActive(tokens, first))
                #expect(try await Self.isActive(tokens, third))
                #expect(try await tokens.count("sessions WHERE late_replays = 0") == 1)
                try await tokens.age(by: 2_592_000)
                #expect(try await !Self.isActive(tokens, third))
            }
        }

        @Test func whateverIsNotGoodIsToldOfInOneWay() async throws {
            try await RunningTokens.with(settings: Self.settings) { tokens in
                let session = try await tokens.signIn()
                let claims = AccessTokenClaims(
                    issuer: "http://gatehouse.localhost", audience: "gatehouse", subject: session.auth.user.id,
                    sessionID: session.sessionID, issuedAt: 1_700_000_000, expiresAt: 4_000_000_000,
                    clientID: "com.example.app", role: "courier")
                let signer = try AccessTokenSigner(key: TokensFixture.signingKey)
                #expect(try await Self.isActive(tokens, try signer.sign(claims)))
                func changed(_ change: (inout AccessTokenClaims) -> Void) throws -> String {
                    var other = claims
                    change(&other)
                    return try signer.sign(other)
                }
                var forged = RefreshToken(text: session.auth.refreshToken)!.bytes
                forged[60] ^= 1
                let foreign = try RSAPrivateKey.generate()
                let bad = [
                    "expired": try changed { $0.expiresAt = 1_700_000_100 },
                    "another issuer": try changed { $0.issuer = "http://elsewhere" },
                    "another audience": try changed { $0.audience = "elsewhere" },
                    "another user's session": try changed { $0.subject = UUID() },
                    "no session": try changed { $0.sessionID = UUID() },
                    "another key": try AccessTokenSigner(key: foreign).sign(claims),
                    "a changed signature": String(try signer.sign(claims).dropLast(4)) + "AAAA",
                    "a forged refresh token": RefreshToken(bytes: forged)!.text,
                    "unknown": RefreshToken(sessionID: UUID(), generation: 0, keys: .sample()).text,
                    "junk": "junk", "space": " ", "dots": "a.b.c",
                ]
                for (name, token) in bad {
                    let answer = try await Self.introspect(tokens, token)
                    #expect(answer.status == 200, "\(name)")
                    #expect(answer.text == #"{"active":false}"#, "\(name)")
                }
            }
        }

        @Test func onlyItsOwnCredentialOpensIt() async throws {
            try await RunningTokens.with(settings: Self.settings) { tokens in
                let token = try await tokens.signIn().auth.accessToken
                let good = ["introspection:introspection-secret", "introspection:introspection-2"]
                for pair in good {
                    let answer = try await Self.introspect(tokens, token, authorization: Self.basic(pair))
                    #expect(answer.status == 200, "\(pair)")
                }
                let bad = [
                    "", "Basic", "Basic !", "Bearer \(token)", Self.basic("introspection"),
                    Self.basic("introspection:"), Self.basic("introspection:wrong"),
                    Self.basic("introspection:introspection-secret "), Self.basic("gateway:introspection-secret"),
                    Self.basic("introspection:gateway-secret"), Self.basic("gateway:gateway-secret"),
                    Self.basic("identity:identity-secret"),
                ]
                for authorization in bad {
                    let answer = try await Self.introspect(tokens, token, authorization: authorization)
                    #expect(answer.status == 401, "\(authorization)")
                    #expect(answer.header("WWW-Authenticate")?.hasPrefix("Basic ") == true)
                    #expect(try Self.members(answer)["error"] as? String == "invalid_client")
                }
                // Another service's credential is refused here, and this one everywhere else but at the feed.
                for headers in [RunningTokens.identity, RunningTokens.devices, [:]] {
                    #expect(try await tokens.client.post(Self.path, headers: headers).status == 401)
                }
                let own = [HeaderName.credential: "introspection-secret"]
                let sessions = "/internal/users/\(UUID())/sessions"
                #expect(try await tokens.client.get(sessions, headers: own).code == "FORBIDDEN")
                #expect(try await tokens.client.post("/internal/sessions", headers: own).code == "FORBIDDEN")
                #expect(try await tokens.client.get("/internal/revocations", headers: own).status == 200)
            }
        }

        /// OAuth libraries encode both as in a form (RFC 6749 §2.3.1).
        @Test func nameAndSecretAreFormEncoded() async throws {
            let settings = ["TOKENS_INTROSPECTION_CREDENTIALS": "one two+three%25/=é"]
            try await RunningTokens.with(settings: settings) { tokens in
                let token = try await tokens.signIn().auth.accessToken
                for pair in [
                    "introspection:one+two%2Bthree%2525%2F%3D%C3%A9", "introspectio%6E:one%20two%2bthree%2525/=é",
                ] {
                    let answer = try await Self.introspect(tokens, token, authorization: Self.basic(pair))
                    #expect(answer.status == 200, "\(pair)")
                }
                for pair in ["introspection:one two+three%25/=é", "introspection:%zz", "introspection:one%00"] {
                    let answer = try await Self.introspect(tokens, token, authorization: Self.basic(pair))
                    #expect(answer.status == 401, "\(pair)")
                }
            }
        }

        @Test func withoutASettingNobodyIsKnown() async throws {
            try await RunningTokens.with { tokens in
                let token = try await tokens.signIn().auth.accessToken
                for pair in ["introspection:introspection-secret", "introspection:"] {
                    #expect(try await Self.introspect(tokens, token, authorization: Self.basic(pair)).status == 401)
                }
            }
        }

        @Test func badRequestsAreRefusedInTheStandardsForm() async throws {
            try await RunningTokens.with(settings: Self.settings) { tokens in
                let authorization = ["Authorization": Self.basic("introspection:introspection-secret")]
                let form = ["Content-Type": "application/x-www-form-urlencoded"]
                for (body, type) in [
                    ("", form), ("token=", form), ("token_type_hint=access_token", form), ("token=a&token=b", form),
                    ("{\"token\":\"a\"}", ["Content-Type": "application/json"]),
                ] {
                    let answer = try await tokens.client.post(
                        Self.path, text: body, headers: authorization.merging(type) { $1 })
                    #expect(answer.status == 400, "\(body)")
                    #expect(try Self.members(answer)["error"] as? String == "invalid_request", "\(body)")
                }
                #expect(try await tokens.client.get(Self.path, headers: authorization).code == "METHOD_NOT_ALLOWED")
            }
        }

        /// `active: false` would make the caller turn away a user with a good token.
        @Test func anOutageIsNoAnswer() async throws {
            try await withPostgresServer { server in
                try await RunningTokens.with(databaseURL: server.url(), settings: Self.settings) { tokens in
                    let session = try await tokens.signIn().auth
                    await server.kill()
                    for token in [session.accessToken, session.refreshToken] {
                        let answer = try await Self.introspect(tokens, token)
                        #expect(answer.status == 503)
                        #expect(answer.header("Retry-After") != nil)
                        let members = try Self.members(answer)
                        #expect(members["error"] as? String == "temporarily_unavailable")
                        #expect(members["active"] == nil)
                    }
                }
            }
        }

        @Test func aRotatedSigningKeysTokensAreStillKnown() async throws {
            let file = SigningKeyFile(path: NSTemporaryDirectory() + "gatehouse-tests-\(UUID().uuidString).pem")
            let keys = SigningKeys(first: TokensFixture.signingKey, isForDevelopment: true)
            try KeyFile.create(file.path, with: keys.text)
            defer { try? FileManager.default.removeItem(atPath: file.path) }
            let settings = Self.settings.merging(["TOKENS_SIGNING_KEY_FILE": file.path]) { $1 }
            try await RunningTokens.with(settings: settings) { tokens in
                let old = try await tokens.signIn().auth.accessToken
                #expect(try await Self.isActive(tokens, old))
                let next = try RSAPrivateKey.generate()
                try file.change { keys in
                    try keys.add(next: next, at: .now)
                    try keys.rotate(at: .now, force: true)
                }
                try await eventually("the new key signs, and its tokens are known") {
                    let new = try await tokens.signIn().auth.accessToken
                    let keys = try VerificationKeySet(keys: [next.publicKey])
                    let verifier = try AccessTokenVerifier(
                        issuer: "http://gatehouse.localhost", audience: "gatehouse", keys: keys)
                    guard (try? verifier.verify(new, now: 0)) != nil else { return false }
                    return try await Self.isActive(tokens, new)
                }
                #expect(try await Self.isActive(tokens, old))
            }
        }
    }
}
