import Foundation
import GatehouseServiceContracts
import GatehouseServiceKit
import HTTPTypes
import NIOHTTP1
import Postgres
import Sealing
import Synchronization
import TestKit
import Testing

@testable import IdentityCore
@testable import IdentityCredentials
@testable import IdentityService

extension AccountServiceTests {
    @Suite struct DeletionTests {
        @Test func nothingOfTheUserRemainsAnywhere() async throws {
            try await withIdentity { identity in
                let auth: AuthResponse = try await identity.apple(
                    identity.apple.token(sub: "001", email: "ada@example.com"), code: identity.apple.code(of: "001")
                ).decode()
                let id = auth.user.id
                let set = try await identity.send(
                    .POST, "/v1/auth/password", as: id, json: #"{"newPassword":"kaffeekuchen"}"#)
                #expect(set.status == 204)
                try await eventually("the code is exchanged") {
                    try await identity.database.query(
                        "SELECT user_id FROM apple_identities JOIN credentials ON id = credential_id WHERE refresh_token IS NOT NULL"
                    ).count == 1
                }
                _ = try await identity.login("ada@example.com", "kaffeekuchen")
                let answer = try await identity.send(.DELETE, "/v1/auth/account", as: id)
                #expect(answer.status == 202)
                // All this holds when the answer is there.
                #expect(identity.tokens.live(id) == 0)
                #expect(try await identity.login("ada@example.com", "kaffeekuchen").code == "INVALID_CREDENTIALS")
                #expect(try await identity.send(.GET, "/v1/auth/me", as: id).code == "INVALID_TOKEN")
                // And the rest soon after.
                try await eventually("Apple is told") { await identity.apple.refreshTokens(of: "001").isEmpty }
                #expect(identity.devices.state.withLock { $0.erased } == [id])
                try await eventually("no row remains") { try await identity.tables(of: id).isEmpty }
                #expect(try await identity.outboxCount == 0)
                let events = try await identity.database.query(
                    "SELECT event FROM audit_entries WHERE user_id = \(id)"
                ).decode(String.self)
                #expect(events.contains("deleted"))
                // A later sign-in creates a new account.
                let again = try await identity.signIn("001", email: "ada@example.com")
                #expect(again.user.id != id)
            }
        }

        @Test func aCodeThatWasNotExchangedYetIsRevokedToo() async throws {
            try await withIdentity { identity in
                let auth: AuthResponse = try await identity.apple(
                    identity.apple.token(sub: "001"), code: identity.apple.code(of: "001")
                ).decode()
                #expect(try await identity.send(.DELETE, "/v1/auth/account", as: auth.user.id).status == 202)
                try await eventually("no row remains") { try await identity.outboxCount == 0 }
                // An exchange that was in progress revokes its token when the deletion is over.
                try await eventually("Apple is told") {
                    let tokens = await identity.apple.refreshTokens(of: "001")
                    return tokens.isEmpty && !identity.apple.requests(to: "/auth/revoke").isEmpty
                }
            }
        }

        @Test func repeatingItChangesNothing() async throws {
            try await withIdentity { identity in
                let id = try await identity.register("ada@example.com").user.id
                for _ in 0..<3 {
                    #expect(try await identity.send(.DELETE, "/v1/auth/account", as: id).status == 202)
                }
                try await eventually("no row remains") { try await identity.tables(of: id).isEmpty }
            }
        }

        @Test func withoutTokensItIsNotSaidToBeDoneButIsDoneLater() async throws {
            try await withIdentity { identity in
                let id = try await identity.register("ada@example.com").user.id
                identity.tokens.state.withLock { $0.isDown = true }
                let refused = try await identity.send(.DELETE, "/v1/auth/account", as: id)
                #expect(refused.code == "UNAVAILABLE")
                #expect(try await identity.login("ada@example.com").code == "INVALID_CREDENTIALS")
                identity.tokens.state.withLock { $0.isDown = false }
                #expect(try await identity.send(.DELETE, "/v1/auth/account", as: id).status == 202)
                #expect(identity.tokens.live(id) == 0)
                try await eventually("no row remains") { try await identity.tables(of: id).isEmpty }
            }
        }

        @Test func devicesAndAppleCatchUp() async throws {
            try await withIdentity { identity in
                let auth: AuthResponse = try await identity.apple(
                    identity.apple.token(sub: "001"), code: identity.apple.code(of: "001")
                ).decode()
                try await eventually("the code is exchanged") { try await identity.outboxCount == 0 }
                identity.devices.state.withLock { $0.isDown = true }
                identity.apple.state.withLock {
                    $0.answers["/auth/revoke"] = [
                        (.internalServerError, ""), (.badRequest, #"{"error":"invalid_client"}"#),
                    ]
                }
                #expect(try await identity.send(.DELETE, "/v1/auth/account", as: auth.user.id).status == 202)
                try await eventually("devices is asked") {
                    try await identity.database.query("SELECT id FROM outbox WHERE attempts > 1").count == 1
                }
                identity.devices.state.withLock { $0.isDown = false }
                try await eventually("devices is told") {
                    identity.devices.state.withLock { $0.erased } == [auth.user.id]
                }
                // What remains until Apple agrees has no user id.
                try await eventually("the user is forgotten") { try await identity.tables(of: auth.user.id).isEmpty }
                try await eventually("Apple is told") { await identity.apple.refreshTokens(of: "001").isEmpty }
                try await eventually("nothing remains") { try await identity.outboxCount == 0 }
            }
        }

        /// A code serves once. When revoking fails after the exchange, the token has to be revoked later.
        @Test func theTokenOfACodeThatADeletionExchangedIsNotForgotten() async throws {
            try await withIdentity { identity in
                identity.apple.state.withLock { $0.answers["/auth/revoke"] = [(.internalServerError, "")] }
                let code = AppleGrant(
                    clientID: "com.example.app", kind: .authorizationCode,
                    secret: try await identity.apple.code(of: "001"))
                try await OutboxStore.enqueue(
                    .revokeAppleGrant, user: nil, dueAtOnce: true, on: identity.database,
                    sealing: { try code.sealed(by: Sealer(keys: .sample, purpose: AppleGrant.sealingPurpose), for: $0) }
                )
                try await eventually("nothing remains") { try await identity.outboxCount == 0 }
                #expect(identity.apple.requests(to: "/auth/token").count == 1)
                #expect(identity.apple.requests(to: "/auth/revoke").count == 1)
                #expect(await identity.apple.refreshTokens(of: "001").isEmpty)
            }
        }

        @Test func aTokenThatAppleNoLongerKnowsIsRevoked() async throws {
            try await withIdentity { identity in
                let auth: AuthResponse = try await identity.apple(
                    identity.apple.token(sub: "001"), code: identity.apple.code(of: "001")
                ).decode()
                try await eventually("the code is exchanged") { try await identity.outboxCount == 0 }
                identity.apple.state.withLock {
                    $0.answers["/auth/revoke"] = [(.badRequest, #"{"error":"invalid_grant"}"#)]
                }
                #expect(try await identity.send(.DELETE, "/v1/auth/account", as: auth.user.id).status == 202)
                try await eventually("nothing remains") { try await identity.outboxCount == 0 }
                #expect(identity.apple.state.withLock { $0.answers["/auth/revoke"]?.isEmpty } == true)
                #expect(identity.apple.requests(to: "/auth/revoke").isEmpty)
            }
        }

        /// The process dies after a step and before noting it, at each step in turn: another one finds the claim run
        /// out.
        @Test(arguments: DeletionStep.allCases)
        func aCrashAtAnyStepForgetsNothing(step: DeletionStep) async throws {
            try await withIdentity { identity in
                let job = try await OutboxStore.enqueue(.deletion(step), user: UUID(), on: identity.database)
                #expect(job.attempts == 0)
                try await identity.database.query("UPDATE outbox SET next_attempt_at = now() - interval '1 second'")
                try await eventually("it is finished") { try await identity.outboxCount == 0 }
                let done = (
                    revoked: identity.tokens.state.withLock { $0.revocations.count },
                    erased: identity.devices.state.withLock { $0.erased.count }
                )
                switch step {
                case .revokeSessions: #expect(done == (2, 1))
                case .eraseDevices: #expect(done == (1, 1))
                case .sweepSessions: #expect(done == (1, 0))
                }
            }
        }
    }
}
