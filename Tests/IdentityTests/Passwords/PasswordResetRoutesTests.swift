import Foundation
import GatehouseServiceContracts
import NIOHTTP1
import Postgres
import Synchronization
import TestKit
import Testing

@testable import IdentityService

extension AccountServiceTests {
    /// A forgotten password, from the request for a message to the sign-in.
    @Suite struct PasswordResetRoutesTests {
        /// Runs `body` against a service whose mail can be read.
        private func withMail(
            _ settings: [String: String] = [:], _ body: @escaping @Sendable (Harness, FakeMail) async throws -> Void
        ) async throws {
            let mail = FakeMail()
            try await withHTTPServer(mail.router()) { mailURL in
                let hook = [
                    "IDENTITY_RESET_HOOK_URL": mailURL.absoluteString + "/reset",
                    "IDENTITY_RESET_HOOK_SECRET": "dev-mail-hook",
                ]
                try await withIdentity(settings.merging(hook) { $1 }) { identity in try await body(identity, mail) }
            }
        }

        private func forget(_ identifier: String, at identity: Harness) async throws {
            let answer = try await identity.post(
                "/v1/auth/password/forgot", ForgotPasswordRequest(identifier: identifier))
            #expect(answer.status == 202)
        }

        private func reset(
            _ token: String, _ password: String, at identity: Harness
        ) async throws -> TestHTTPClient.Response {
            try await identity.post(
                "/v1/auth/password/reset", ResetPasswordRequest(token: token, newPassword: password))
        }

        @Test func aForgottenPasswordIsReset() async throws {
            try await withMail { identity, mail in
                let id = try await identity.register("ada@example.com").user.id
                try await forget("eve@example.com", at: identity)
                try await forget("ada@example.com", at: identity)
                try await eventually("mail is sent") { mail.messages.withLock { $0.count } == 1 }
                try await eventually("the outbox is empty") { try await identity.outboxCount == 0 }
                let message = try #require(mail.messages.withLock { $0.first })
                #expect(message.to == "ada@example.com" && message.channel == "email")
                #expect(try await reset("ghpr_wrong", "kaffeekuchen", at: identity).code == "INVALID_REQUEST")
                #expect(try await reset(message.token, "short", at: identity).code == "WEAK_PASSWORD")
                #expect(try await reset(message.token, "kaffeekuchen", at: identity).status == 204)
                #expect(try await reset(message.token, "kaffeekuchen", at: identity).code == "INVALID_REQUEST")
                #expect(identity.tokens.live(id) == 0)
                #expect(try await identity.login("ada@example.com").code == "INVALID_CREDENTIALS")
                let auth: AuthResponse = try await identity.login("ada@example.com", "kaffeekuchen").decode()
                // Who reads the mail has verified the address.
                #expect(auth.user.emailVerified)
            }
        }

        /// Otherwise an attacker who registers another user's address could write to them in the team's name.
        @Test func nothingThatTheUserWroteIsSent() async throws {
            try await withMail { identity, mail in
                let name = "You have won! Call 0900"
                let registered = try await identity.post(
                    "/v1/auth/register",
                    RegisterRequest(
                        identifier: "ada@example.com", password: "tulpenzwiebel", displayName: name,
                        device: SessionDevice(installationId: name, name: name)))
                #expect(registered.status == 201)
                #expect(try registered.decode(AuthResponse.self).user.displayName == name)
                try await forget("ada@example.com", at: identity)
                try await eventually("mail is sent") { mail.messages.withLock { $0.count } == 1 }
                let body = try #require(mail.bodies.withLock { $0.first })
                let fields = try #require(try JSONSerialization.jsonObject(with: body) as? [String: String])
                #expect(Set(fields.keys) == ["channel", "to", "token", "expiresAt"])
                #expect(!fields.values.contains { $0.contains("won") })
            }
        }

        /// Only messages that are sent count: otherwise strangers could use the total up for everybody.
        @Test func whatNobodyHasRegisteredUsesUpNobodysMessages() async throws {
            let settings = [
                "GATEHOUSE_RATE_LIMITS": "on", "IDENTITY_REDIS_URL": "redis://127.0.0.1:1",
                "IDENTITY_RESET_MESSAGES_PER_HOUR": "1",
            ]
            try await withMail(settings) { identity, mail in
                for name in ["ada", "bob"] { _ = try await identity.register("\(name)@example.com") }
                for number in 0..<5 { try await forget("eve-\(number)@example.com", at: identity) }
                try await eventually("the outbox is empty") { try await identity.outboxCount == 0 }
                try await forget("ada@example.com", at: identity)
                try await eventually("mail is sent") { mail.messages.withLock { $0.count } == 1 }
                try await eventually("the outbox is empty") { try await identity.outboxCount == 0 }

                // The answer is the same; the message waits.
                try await forget("bob@example.com", at: identity)
                try await eventually("the message is put off") {
                    try await identity.database.query("SELECT id FROM outbox WHERE next_attempt_at > created_at").count
                        == 1
                }
                #expect(mail.messages.withLock { $0.map(\.to) } == ["ada@example.com"])
                let tokens = try await identity.database.query("SELECT count(*) FROM password_resets")
                #expect(try tokens[0].decode(Int.self) == 1)
            }
        }

        /// An attacker registers another user's address, has mail sent there, and links Apple before it is read.
        @Test func nobodyLiesInWaitBehindAnAppleAccount() async throws {
            try await withMail { identity, mail in
                let eve = try await identity.register("ada@example.com").user.id
                try await forget("ada@example.com", at: identity)
                try await eventually("mail is sent") { mail.messages.withLock { $0.count } == 1 }
                let token = try identity.apple.token(sub: "eve")
                let linked = try await identity.send(
                    .POST, "/v1/auth/identities/apple", as: eve, json: #"{"identityToken":"\#(token)"}"#)
                #expect(linked.status == 200)
                let message = try #require(mail.messages.withLock { $0.first })
                #expect(try await reset(message.token, "kaffeekuchen", at: identity).code == "INVALID_REQUEST")
                #expect(try await identity.login("ada@example.com", "kaffeekuchen").code == "INVALID_CREDENTIALS")
                let me: User = try await identity.send(.GET, "/v1/auth/me", as: eve).decode()
                #expect(!me.emailVerified)
            }
        }
    }
}
