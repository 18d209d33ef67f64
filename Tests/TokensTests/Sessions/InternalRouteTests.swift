import Foundation
import GatehouseAccessTokens
import GatehouseServiceContracts
import Postgres
import TestKit
import Testing

@testable import TokensService

extension ServiceTests {
    @Suite struct InternalRouteTests {
        @Test func eachRouteNamesItsCallers() async throws {
            try await RunningTokens.with { tokens in
                let id = UUID()
                let identityOnly = [
                    ("POST", "/internal/sessions"), ("DELETE", "/internal/sessions/\(id)"),
                    ("GET", "/internal/users/\(id)/sessions"), ("POST", "/internal/users/\(id)/revoke"),
                    ("DELETE", "/internal/users/\(id)/sessions/\(id)"),
                    ("PUT", "/internal/users/\(id)/snapshot"), ("PUT", "/internal/sessions/\(id)/authentication"),
                ]
                let gateway = [HeaderName.credential: "gateway-secret-2"]
                for (method, path) in identityOnly {
                    for headers in [[:], gateway, RunningTokens.devices] {
                        let refused = try await tokens.client.send(method, path, headers: headers)
                        #expect(refused.code == "FORBIDDEN", "\(method) \(path)")
                    }
                }
                #expect(try await tokens.client.get("/internal/revocations").code == "FORBIDDEN")
                for headers in [[:], RunningTokens.identity, RunningTokens.devices] {
                    #expect(try await tokens.client.get("/internal/keys", headers: headers).code == "FORBIDDEN")
                }
                let keys = try await tokens.client.get("/internal/keys", headers: gateway)
                let kid = TokensFixture.signingKey.publicKey.thumbprint
                #expect(try keys.decode(SigningKeyList.self) == SigningKeyList(keys: [.init(kid: kid, state: .active)]))
                for headers in [gateway, RunningTokens.devices, RunningTokens.identity] {
                    let page = try await tokens.client.get("/internal/revocations", headers: headers)
                    #expect(page.status == 200)
                }
            }
        }

        @Test func identityChangesAndErasesAUser() async throws {
            try await RunningTokens.with { tokens in
                var user = User.sample()
                let session = try await tokens.signIn(user)
                user.displayName = "Augusta Ada King"
                let changed = try await tokens.client.send(
                    "PUT", "/internal/users/\(user.id)/snapshot",
                    headers: RunningTokens.identity.merging(["Content-Type": "application/json"]) { $1 },
                    body: try JSON.encode(UserSnapshot(user: user, version: 2)))
                #expect(changed.status == 204)
                let refreshed = try await tokens.refresh(session.auth.refreshToken).decode(AuthResponse.self)
                #expect(refreshed.user.displayName == "Augusta Ada King")

                let revoked = try await tokens.client.post(
                    "/internal/users/\(user.id)/revoke", json: RevokeSessionsRequest(reason: .accountDeleted),
                    headers: RunningTokens.identity)
                #expect(revoked.status == 204)
                #expect(try await tokens.refresh(refreshed.refreshToken).code == "INVALID_REFRESH_TOKEN")
                let late = try await tokens.createSession(nil, user, version: 3)
                #expect(late.code == "INVALID_CREDENTIALS")
                #expect(try await tokens.count("users") == 0)
            }
        }

        @Test func aRevocationSparesSessionsOfNewerCredentials() async throws {
            try await RunningTokens.with { tokens in
                let user = User.sample()
                let newer = UUID.session(of: user.id)
                _ = try await tokens.signIn(user)
                #expect(try await tokens.createSession(newer, user, credentialsVersion: 2).status == 200)
                let revoked = try await tokens.client.post(
                    "/internal/users/\(user.id)/revoke",
                    json: RevokeSessionsRequest(belowCredentialsVersion: 2, reason: .passwordChanged),
                    headers: RunningTokens.identity)
                #expect(revoked.status == 204)
                let left = try await tokens.client.get(
                    "/internal/users/\(user.id)/sessions", headers: RunningTokens.identity)
                #expect(try left.decode(SessionList.self).sessions.map(\.id) == [newer])
            }
        }

        @Test func sessionsAreMadeUnderNewIdsForSignInsThatHaveJustBegun() async throws {
            try await RunningTokens.with { tokens in
                let user = User.sample()
                let session = try await tokens.signIn(user)
                #expect(try await tokens.createSession(session.sessionID, user).code == "INVALID_REQUEST")
                let other = try await tokens.createSession(.session(of: UUID()), user)
                #expect(try other.problem().errors?.map(\.field) == ["sessionID"], "another user's prefix")
                for age in [-0.001, 600] {
                    let refused = try await tokens.createSession(nil, .sample(), age: age)
                    #expect(try refused.problem().errors?.map(\.field) == ["signInAge"])
                }
                #expect(try await tokens.count("sessions") == 1)
            }
        }

        @Test func aSessionIsTakenBack() async throws {
            try await RunningTokens.with { tokens in
                let user = User.sample()
                let session = try await tokens.signIn(user)
                let path = "/internal/users/\(user.id)/sessions"
                let before = try await tokens.client.get(path, headers: RunningTokens.identity)
                #expect(try before.decode(SessionList.self).sessions.map(\.id) == [session.sessionID])
                for _ in 0..<2 {
                    let back = try await tokens.client.delete(
                        "/internal/sessions/\(session.sessionID)", headers: RunningTokens.identity)
                    #expect(back.status == 204)
                }
                #expect(try await tokens.refresh(session.auth.refreshToken).status == 401)
                #expect(try await tokens.count("\(revocations) WHERE reason = 'superseded'") == 1)
            }
        }

        /// An administrator ends it: only that user's, and the feed tells of it.
        @Test func oneSessionOfAUserIsEnded() async throws {
            try await RunningTokens.with { tokens in
                let user = User.sample()
                let (session, other) = (try await tokens.signIn(user), try await tokens.signIn(user))
                let listed: SessionList = try await tokens.client.get(
                    "/internal/users/\(user.id)/sessions", headers: RunningTokens.identity
                ).decode()
                #expect(listed.sessions.count == 2)
                func end(_ id: UUID, of userID: UUID) async throws -> Int {
                    try await tokens.client.delete(
                        "/internal/users/\(userID)/sessions/\(id)", headers: RunningTokens.identity
                    ).status
                }
                #expect(try await end(session.sessionID, of: UUID()) == 404)
                #expect(try await tokens.refresh(session.auth.refreshToken).status == 200)
                #expect(try await end(session.sessionID, of: user.id) == 204)
                #expect(try await end(session.sessionID, of: user.id) == 404)
                #expect(try await tokens.refresh(session.auth.refreshToken).code == "INVALID_REFRESH_TOKEN")
                #expect(try await tokens.refresh(other.auth.refreshToken).status == 200)
                let page: RevocationPage = try await tokens.client.get(
                    "/internal/revocations", headers: RunningTokens.devices
                ).decode()
                #expect(page.entries.filter { $0.sessionID == session.sessionID }.map(\.reason) == [.administrator])
            }
        }

        @Test func whichSessionsAreLiveIsAnsweredToDevices() async throws {
            try await RunningTokens.with { tokens in
                let (live, ended, expired) = (
                    try await tokens.signIn(), try await tokens.signIn(), try await tokens.signIn()
                )
                _ = try await tokens.client.post(
                    "/v1/auth/logout", json: LogoutRequest(refreshToken: ended.auth.refreshToken))
                try await tokens.pool.query(
                    "UPDATE sessions SET expires_at = statement_timestamp() WHERE id = \(expired.sessionID)")
                let asked = LiveSessions([live, ended, expired].map(\.sessionID) + [UUID()])
                func ask(_ sessions: LiveSessions, _ headers: [String: String]) async throws -> TestHTTPClient.Response
                {
                    try await tokens.client.post("/internal/sessions/live", json: sessions, headers: headers)
                }
                let answer = try await ask(asked, RunningTokens.devices)
                let sessions = try answer.decode(LiveSessions.self)
                #expect(sessions.ids == [live.sessionID])
                let expiresAt = try await tokens.pool.query(
                    "SELECT expires_at FROM sessions WHERE id = \(live.sessionID)")[0].decode(Date.self)
                let answered = try #require(sessions.expirations?[live.sessionID])
                #expect(abs(answered.timeIntervalSince(expiresAt)) < 1)
                let many = LiveSessions((0...LiveSessions.most).map { _ in UUID() })
                #expect(try await ask(many, RunningTokens.devices).code == "INVALID_REQUEST")
                #expect(try await ask(asked, RunningTokens.identity).code == "FORBIDDEN")
            }
        }

        @Test("A reader asks for the latest cursor: it gets no earlier entries")
        func latestCursor() async throws {
            try await RunningTokens.with { tokens in
                func page(after cursor: String) async throws -> RevocationPage {
                    try await tokens.client.get(
                        "/internal/revocations?after=\(cursor)", headers: RunningTokens.identity
                    ).decode()
                }
                var ended: [UUID] = []
                var start: RevocationPage?
                for _ in 0..<2 {
                    let session = try await tokens.signIn()
                    let loggedOut = try await tokens.client.post(
                        "/v1/auth/logout", json: LogoutRequest(refreshToken: session.auth.refreshToken))
                    #expect(loggedOut.status == 204)
                    ended.append(session.sessionID)
                    if start == nil { start = try await page(after: RevocationPage.latest) }
                }
                let latest = try #require(start)
                #expect(latest.entries == [] && !latest.reset && !latest.more)
                #expect(try await page(after: latest.cursor).entries.map(\.sessionID) == [ended[1]])
            }
        }

        @Test("A user logs out at one replica: a reader that waits at another one gets the entry")
        func feedWait() async throws {
            try await RunningTokens.with(replicas: 2) { tokens in
                let session = try await tokens.signIn()
                let start = try await tokens.client.get("/internal/revocations", headers: RunningTokens.devices)
                    .decode(RevocationPage.self)
                let reader = TestHTTPClient(tokens.replicas[1].url)
                let waiting = Task {
                    try await reader.get(
                        "/internal/revocations?after=\(start.cursor)&wait=20", headers: RunningTokens.devices)
                }
                let loggedOut = try await tokens.client.post(
                    "/v1/auth/logout", json: LogoutRequest(refreshToken: session.auth.refreshToken))
                #expect(loggedOut.status == 204)
                // `RevocationFeedTests` shows that the answer does not come at the end of the wait.
                let page = try await waiting.value.decode(RevocationPage.self)
                #expect(page.entries.map(\.sessionID) == [session.sessionID])
                #expect(page.entries[0].reason == .logout)
                #expect(page.entries[0].accessExpiresAt >= session.auth.expiresAt)
                let bad = try await tokens.client.get("/internal/revocations?wait=x", headers: RunningTokens.devices)
                #expect(bad.code == "INVALID_REQUEST")
            }
        }
    }
}
