import Foundation
import GatehouseServiceContracts
import NIOHTTP1
import Postgres
import Synchronization
import TestKit
import Testing

@testable import IdentityService

extension AccountServiceTests {
    @Suite struct ReauthenticationTests {
        private static let path = "/v1/auth/reauthenticate"
        private static let password = #"{"password":"tulpenzwiebel"}"#

        /// The user and their only session.
        private func signedIn(_ identity: Harness, _ auth: AuthResponse) throws -> (user: UUID, session: UUID) {
            let session = identity.tokens.state.withLock { state in
                state.sessions.first { $0.value.snapshot.user.id == auth.user.id }?.key
            }
            return (auth.user.id, try #require(session))
        }

        private func renewals(_ identity: Harness) -> [[AuthenticationMethod]] {
            identity.tokens.state.withLock { $0.renewals.map(\.methods) }
        }

        @Test func eachSignInSaysHowItsUserAuthenticated() async throws {
            try await withIdentity { identity in
                _ = try await identity.register("ada@example.com")
                _ = try await identity.login("ada@example.com")
                _ = try await identity.signIn("apple-1")
                let methods = identity.tokens.state.withLock { $0.sessions.values.map(\.authenticationMethods) }
                #expect(methods.count { $0 == [.password] } == 2 && methods.count { $0 == [.apple] } == 1)
            }
        }

        @Test func thePasswordRenewsTheSession() async throws {
            try await withIdentity { identity in
                let ada = try await identity.register("ada@example.com")
                _ = try await identity.register("eve@example.com", "kaffeekuchen")
                let (user, session) = try signedIn(identity, ada)
                let longNonce = String(repeating: "n", count: 513)
                let bodies = [
                    (#"{"password":"tulpenzwiebe1"}"#, "INVALID_CREDENTIALS"),
                    // Another user's, which is right there.
                    (#"{"password":"kaffeekuchen"}"#, "INVALID_CREDENTIALS"),
                    ("{}", "INVALID_REQUEST"), (#"{"password":""}"#, "INVALID_REQUEST"),
                    (#"{"nonce":"n"}"#, "INVALID_REQUEST"),
                    (#"{"password":"tulpenzwiebel","identityToken":"t"}"#, "INVALID_REQUEST"),
                    (#"{"password":"tulpenzwiebel","nonce":"\#(longNonce)"}"#, "INVALID_REQUEST"),
                ]
                for (body, code) in bodies {
                    let answer = try await identity.send(.POST, Self.path, as: user, session: session, json: body)
                    #expect(answer.code == code, "\(body)")
                }
                #expect(renewals(identity) == [])
                // However old the last authentication is, or unknown.
                for age in [0, 100_000, nil] {
                    let answer = try await identity.send(
                        .POST, Self.path, as: user, session: session, age: age, json: Self.password)
                    #expect(answer.status == 204)
                }
                #expect(renewals(identity) == [[.password], [.password], [.password]])
                let events = try await identity.database.query(
                    "SELECT actor FROM audit_entries WHERE user_id = \(user) AND event = 'reauthenticated'")
                #expect(try events.decode(String.self) == ["user", "user", "user"])
                let nobody = try await identity.send(.POST, Self.path, json: Self.password)
                #expect(nobody.code == "INVALID_TOKEN")
            }
        }

        @Test func anEndedSessionAndADisabledUserAreNotRenewed() async throws {
            try await withIdentity { identity in
                let (user, session) = try signedIn(identity, try await identity.register("ada@example.com"))
                func answer(_ session: UUID) async throws -> TestHTTPClient.Response {
                    try await identity.send(.POST, Self.path, as: user, session: session, json: Self.password)
                }
                #expect(try await answer(UUID()).code == "INVALID_TOKEN")
                identity.tokens.state.withLock { $0.isDown = true }
                let away = try await answer(session)
                #expect(away.status == 503 && away.code == "UNAVAILABLE")
                identity.tokens.state.withLock { $0.isDown = false }
                try await identity.database.query("UPDATE users SET state = 'disabled' WHERE id = \(user)")
                #expect(try await answer(session).code == "ACCOUNT_DISABLED")
                let wrong = try await identity.send(
                    .POST, Self.path, as: user, session: session, json: #"{"password":"tulpenzwiebe1"}"#)
                #expect(wrong.code == "INVALID_CREDENTIALS", "only who authenticates is told")
                try await identity.database.query("DELETE FROM users WHERE id = \(user)")
                #expect(try await answer(session).code == "INVALID_TOKEN")
                #expect(renewals(identity) == [])
            }
        }

        @Test func onlyTheLinkedAppleAccountRenewsTheSession() async throws {
            try await withIdentity { identity in
                let (user, session) = try signedIn(identity, try await identity.signIn("apple-ada"))
                _ = try await identity.signIn("apple-eve")
                func answer(_ token: String, nonce: String? = nil) async throws -> TestHTTPClient.Response {
                    try await identity.send(
                        .POST, Self.path, as: user, session: session,
                        json: String(
                            decoding: JSON.encode(ReauthenticateRequest(identityToken: token, nonce: nonce)),
                            as: UTF8.self))
                }
                let now = Int(Date.now.timeIntervalSince1970)
                let refused = [
                    try identity.apple.token(sub: "apple-eve"), try identity.apple.token(sub: "apple-nobody"),
                    try identity.apple.token(sub: "apple-ada", nonce: "raw"),
                    // Good for a sign-in, but of an authentication that is too old.
                    try identity.apple.token(sub: "apple-ada") { $0["iat"] = now - 700 }, "junk",
                ]
                for token in refused { #expect(try await answer(token).code == "INVALID_APPLE_TOKEN") }
                #expect(renewals(identity) == [])
                let password = try await identity.send(
                    .POST, Self.path, as: user, session: session, json: Self.password)
                #expect(try password.decode(ProblemDocument.self).errors?.map(\.field) == ["password"])

                let nonce = try await identity.nonce()
                let token = try identity.apple.token(sub: "apple-ada", nonce: nonce)
                for _ in 0..<2 { #expect(try await answer(token, nonce: nonce).status == 204) }
                let second = try identity.apple.token(sub: "apple-ada", nonce: nonce) { $0["jti"] = "2" }
                #expect(try await answer(second, nonce: nonce).code == "INVALID_APPLE_TOKEN", "a nonce serves once")
                #expect(renewals(identity) == [[.apple], [.apple]])
            }
        }

        @Test func wrongPasswordsCountWithThoseOfAChange() async throws {
            try await withIdentity(["GATEHOUSE_RATE_LIMITS": "on"]) { identity in
                let name = "ada-\(UUID().uuidString.lowercased())@example.com"
                let (user, session) = try signedIn(identity, try await identity.register(name))
                let wrong = #"{"password":"tulpenzwiebe1"}"#
                var codes: [String?] = []
                while codes.last != "RATE_LIMITED", codes.count < 40 {
                    codes.append(
                        try await identity.send(.POST, Self.path, as: user, session: session, json: wrong).code)
                }
                #expect(codes.dropLast() == ArraySlice(Array(repeating: "INVALID_CREDENTIALS", count: 10)))
                #expect(codes.last == "RATE_LIMITED")
                let change = try await identity.send(
                    .POST, "/v1/auth/password", as: user, session: session,
                    json: #"{"currentPassword":"tulpenzwiebe1","newPassword":"kaffeekuchen"}"#)
                #expect(change.code == "RATE_LIMITED", "they are counted together")
                #expect(try await identity.login(name).status == 200, "and apart from signing in")
            }
        }

        /// Whatever would make a stolen access token's account the thief's.
        @Test func whatNeedsARecentProofIsRefusedWithoutOne() async throws {
            try await withIdentity { identity in
                let auth = try await identity.signIn("apple-ada", email: "ada@example.com")
                let (user, session) = try signedIn(identity, auth)
                let token = try identity.apple.token(sub: "apple-thief")
                let requests: [(HTTPMethod, String, String?)] = [
                    (.POST, "/v1/auth/password", #"{"newPassword":"kaffeekuchen"}"#),
                    (.POST, "/v1/auth/identities/apple", #"{"identityToken":"\#(token)"}"#),
                    (.DELETE, "/v1/auth/identities/apple", nil), (.DELETE, "/v1/auth/identities/password", nil),
                    (.GET, "/v1/auth/export", nil), (.DELETE, "/v1/auth/account", nil),
                ]
                for (method, path, body) in requests {
                    for age in [606, 100_000, nil] {
                        let answer = try await identity.send(
                            method, path, as: user, session: session, age: age, json: body)
                        #expect(answer.status == 403 && answer.code == "REAUTHENTICATION_REQUIRED", "\(path)")
                        let challenge = answer.header("WWW-Authenticate") ?? ""
                        #expect(challenge.contains(#"error="insufficient_user_authentication""#))
                        #expect(challenge.hasSuffix(#"max_age="600""#))
                    }
                }
                let account = try await identity.send(.GET, "/v1/auth/me", as: user, age: nil).decode(User.self)
                #expect(account == auth.user, "nothing has changed")
                // In time, each does what it did; the password that is there then authenticates by itself.
                let set = try await identity.send(
                    .POST, "/v1/auth/password", as: user, session: session, age: 590,
                    json: #"{"newPassword":"kaffeekuchen"}"#)
                #expect(set.status == 204)
                let change = try await identity.send(
                    .POST, "/v1/auth/password", as: user, session: session, age: 100_000,
                    json: #"{"currentPassword":"kaffeekuchen","newPassword":"tulpenzwiebel"}"#)
                #expect(change.status == 204)
                for (method, path, _) in requests.dropFirst(3).reversed() where path != "/v1/auth/account" {
                    let answer = try await identity.send(method, path, as: user, session: session, age: 590)
                    #expect(answer.status == 200, "\(path)")
                }
                let deleted = try await identity.send(.DELETE, "/v1/auth/account", as: user, session: session, age: 590)
                #expect(deleted.status == 202)
            }
        }

        @Test func aDeletionThatWasBegunGoesOnWithoutAProof() async throws {
            try await withIdentity { identity in
                let (user, session) = try signedIn(identity, try await identity.register("ada@example.com"))
                identity.tokens.state.withLock { $0.isDown = true }
                let begun = try await identity.send(.DELETE, "/v1/auth/account", as: user, session: session)
                #expect(begun.status == 503)
                identity.tokens.state.withLock { $0.isDown = false }
                let again = try await identity.send(
                    .DELETE, "/v1/auth/account", as: user, session: session, age: 100_000)
                #expect(again.status == 202)
                #expect(identity.tokens.live(user) == 0)
            }
        }

        @Test func theTeamSaysHowOldAProofMayBe() async throws {
            try await withIdentity(["IDENTITY_MAXIMUM_AUTHENTICATION_AGE": "31536000"]) { identity in
                let (user, session) = try signedIn(identity, try await identity.register("ada@example.com"))
                for (age, status) in [(30_000_000, 200), (nil, 403)] {
                    let answer = try await identity.send(
                        .GET, "/v1/auth/export", as: user, session: session, age: age)
                    #expect(answer.status == status)
                }
            }
        }
    }
}
