import Foundation
import GatehouseServiceContracts
import NIOHTTP1
import Postgres
import Synchronization
import TestKit
import Testing

@testable import IdentityCore

extension AppleServiceTests {
    @Suite struct AppleNonceRoutesTests {
        @Test func noncesHaveToMatch() async throws {
            try await withIdentity { identity in
                let apple = identity.apple
                let hashed = sha256Hex("raw")
                let cases: [(claimed: String?, sent: String?, isRight: Bool)] = [
                    ("raw", "raw", true), (hashed, "raw", true), ("raw", nil, false), (nil, "raw", false),
                    ("other", "raw", false),
                ]
                for (claimed, sent, isRight) in cases {
                    let answer = try await identity.apple(apple.token(sub: "1", nonce: claimed), nonce: sent)
                    #expect(answer.code == (isRight ? nil : "INVALID_APPLE_TOKEN"))
                }
            }
        }

        @Test func requiredNoncesAreRequired() async throws {
            try await withIdentity(["IDENTITY_APPLE_NONCE": "required"]) { identity in
                #expect(try await identity.apple(identity.apple.token(sub: "1")).code == "INVALID_APPLE_TOKEN")
                let answer = try await identity.send(.POST, "/v1/auth/apple/nonce")
                #expect(answer.status == 200)
                let nonce: AppleNonceResponse = try answer.decode()
                #expect(nonce.expiresIn == 600)
                let token = try identity.apple.token(sub: "1", nonce: sha256Hex(nonce.nonce))
                #expect(try await identity.apple(token, nonce: nonce.nonce).status == 200)
            }
        }

        /// Where a nonce is required, the app may choose it. Then it serves once, as ours do.
        @Test func requiredNoncesServeOnceWhoeverChoseThem() async throws {
            try await withIdentity(["IDENTITY_APPLE_NONCE": "required"]) { identity in
                let token = try identity.apple.token(sub: "1", nonce: "raw")
                for _ in 0..<2 { #expect(try await identity.apple(token, nonce: "raw").status == 200) }
                let other = try identity.apple.token(sub: "1", nonce: "raw") { $0["jti"] = "2" }
                #expect(try await identity.apple(other, nonce: "raw").code == "INVALID_APPLE_TOKEN")
                // As long as Apple's token counts, it is remembered.
                try await identity.database.query("UPDATE used_nonces SET used_at = now() - interval '61 seconds'")
                #expect(try await identity.apple(token, nonce: "raw").code == "INVALID_APPLE_TOKEN")
                let isKept = try await identity.database.query(
                    "SELECT expires_at > now() + interval '50 minutes' FROM used_nonces")
                #expect(try isKept.decode(Bool.self) == [true])
            }
        }

        @Test func aNonceServesOneTokenEvenWhenUsedAtTheSameTime() async throws {
            try await withIdentity { identity in
                let nonce = try await identity.nonce()
                let tokens = try (0..<10).map { number in
                    try identity.apple.token(sub: "1", nonce: nonce) { $0["jti"] = number }
                }
                let answers = try await withThrowingTaskGroup(of: (String, TestHTTPClient.Response).self) { group in
                    for token in tokens { group.addTask { (token, try await identity.apple(token, nonce: nonce)) } }
                    return try await group.reduce(into: [(String, TestHTTPClient.Response)]()) { $0.append($1) }
                }
                let winners = answers.filter { $0.1.status == 200 }.map(\.0)
                #expect(winners.count == 1)
                #expect(answers.count { $0.1.code == "INVALID_APPLE_TOKEN" } == 9)
                #expect(identity.tokens.liveCount == 1)
                let recorded = try await identity.database.query(
                    "SELECT count(*) FROM audit_entries WHERE event = 'signed_in'")
                #expect(try recorded.decode(Int.self) == [1], "a sign-in without its session is not one")
                for token in tokens where token != winners.first {
                    #expect(try await identity.apple(token, nonce: nonce).code == "INVALID_APPLE_TOKEN")
                }
            }
        }

        /// The process or the network failed before the answer reached the client.
        @Test func aSignInWhoseAnswerWasLostMayBeRepeatedForAMinute() async throws {
            try await withIdentity { identity in
                let nonce = try await identity.nonce()
                let token = try identity.apple.token(sub: "1", nonce: nonce)
                let first: AuthResponse = try await identity.apple(token, nonce: nonce).decode()
                let again: AuthResponse = try await identity.apple(token, nonce: nonce).decode()
                #expect(again.user == first.user)
                try await identity.database.query("UPDATE used_nonces SET used_at = now() - interval '61 seconds'")
                #expect(try await identity.apple(token, nonce: nonce).code == "INVALID_APPLE_TOKEN")
                #expect(identity.tokens.liveCount == 2)
            }
        }

        @Test func aLinkWhoseAnswerWasLostMayBeRepeatedToo() async throws {
            try await withIdentity { identity in
                let ada = try await identity.register("ada@example.com").user.id
                let nonce = try await identity.nonce()
                func link(_ token: String) async throws -> TestHTTPClient.Response {
                    try await identity.send(
                        .POST, "/v1/auth/identities/apple", as: ada,
                        json: #"{"identityToken":"\#(token)","nonce":"\#(nonce)"}"#)
                }
                // One that fails leaves the nonce as it was: another token may come with it.
                try await identity.database.query("ALTER TABLE apple_identities RENAME COLUMN client_id TO away")
                #expect(try await link(identity.apple.token(sub: "1", nonce: nonce) { $0["jti"] = "1" }).status == 500)
                try await identity.database.query("ALTER TABLE apple_identities RENAME COLUMN away TO client_id")
                let token = try identity.apple.token(sub: "1", nonce: nonce)
                for _ in 0..<2 {
                    let user: User = try await link(token).decode()
                    #expect(user.authProviders == [.apple, .password])
                }
                let other = try identity.apple.token(sub: "1", nonce: nonce) { $0["jti"] = "2" }
                #expect(try await link(other).code == "INVALID_APPLE_TOKEN")
            }
        }

        @Test func anAttemptThatFailedHalfWayMayBeRepeatedWithItsNonce() async throws {
            try await withIdentity { identity in
                let nonce = try await identity.nonce()
                let token = try identity.apple.token(sub: "1", nonce: nonce)
                identity.tokens.state.withLock { $0.isDown = true }
                #expect(try await identity.apple(token, nonce: nonce).code == "UNAVAILABLE")
                identity.tokens.state.withLock { $0.isDown = false }
                #expect(try await identity.apple(token, nonce: nonce).status == 200)
            }
        }
    }
}

extension Harness {
    /// A nonce of ours.
    func nonce() async throws -> String {
        try await send(.POST, "/v1/auth/apple/nonce").decode(AppleNonceResponse.self).nonce
    }
}
