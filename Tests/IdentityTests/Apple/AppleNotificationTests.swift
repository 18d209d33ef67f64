import Foundation
import GatehouseServiceContracts
import NIOHTTP1
import Postgres
import Synchronization
import TestKit
import Testing

@testable import IdentityService

extension AppleServiceTests {
    /// Apple's notifications, signed as Apple signs them.
    @Suite struct AppleNotificationTests {
        private func tell(_ payload: String, to identity: Harness) async throws {
            let answer = try await identity.post(
                "/v1/auth/apple/notifications", AppleNotificationRequest(payload: payload))
            #expect(answer.status == 200)
        }

        /// Signs in with an identity token that Apple issued some time ago.
        /// - Returns: the user, and the session that was made then.
        private func signIn(_ identity: Harness, secondsAgo age: Int) async throws -> (user: UUID, session: UUID) {
            let token = try identity.apple.token(sub: "001") { claims in
                claims["iat"] = Int(Date.now.timeIntervalSince1970) - age
            }
            let before = identity.tokens.state.withLock { Set($0.sessions.keys) }
            let code = try await identity.apple.code(of: "001")
            let user = try await identity.apple(token, code: code).decode(AuthResponse.self).user.id
            return try identity.tokens.state.withLock { state in
                let session = try #require(state.sessions.keys.first { !before.contains($0) })
                state.createdAt[session] = Date.now - Double(age)
                return (user, session)
            }
        }

        @Test(arguments: [true, false])
        func whoWithdrawsTheConsentIsSignedOut(asObject: Bool) async throws {
            try await withIdentity { identity in
                let (user, _) = try await signIn(identity, secondsAgo: 600)
                let payload = try await identity.apple.notification(
                    "consent-revoked", of: "001", at: .now, asObject: asObject)
                try await tell(payload, to: identity)
                try await eventually("the session ends") { identity.tokens.live(user) == 0 }
                // Told twice, done once.
                _ = try await signIn(identity, secondsAgo: 0)
                try await tell(payload, to: identity)
                #expect(identity.tokens.live(user) == 1)
            }
        }

        @Test func aLateNotificationSparesWhatCameAfter() async throws {
            try await withIdentity { identity in
                let former = try await signIn(identity, secondsAgo: 900)
                let present = try await signIn(identity, secondsAgo: 300)
                try await eventually("the codes are exchanged") { try await identity.outboxCount == 0 }
                try await tell(
                    identity.apple.notification("account-delete", of: "001", at: .now - 1200), to: identity)
                #expect(identity.tokens.live(former.user) == 2)
                try await tell(
                    identity.apple.notification("consent-revoked", of: "001", at: .now - 600), to: identity)
                try await eventually("the former session ends") { identity.tokens.live(former.user) == 1 }
                #expect(identity.tokens.state.withLock { Array($0.sessions.keys) } == [present.session])
                let kept = try await identity.database.query(
                    "SELECT subject FROM apple_identities JOIN credentials ON id = credential_id WHERE refresh_token IS NOT NULL"
                )
                #expect(kept.count == 1)
                try await tell(
                    identity.apple.notification("consent-revoked", of: "001", at: .now - 100), to: identity)
                try await eventually("all sessions end") { identity.tokens.live(former.user) == 0 }
            }
        }

        @Test(arguments: ["account-delete", "account-deleted"])
        func whoDeletesTheAppleAccountIsUnlinkedOrGone(type: String) async throws {
            try await withIdentity { identity in
                // With a password beside it the account stays.
                let ada = try await identity.register("ada@example.com").user
                let linked = try await identity.send(
                    .POST, "/v1/auth/identities/apple", as: ada.id,
                    body: LinkAppleRequest(identityToken: identity.apple.token(sub: "002")))
                #expect(linked.status == 200, "\(linked.text)")
                try await tell(identity.apple.notification(type, of: "002", at: .now), to: identity)
                try await eventually("the Apple account is unlinked") {
                    try await identity.send(.GET, "/v1/auth/me", as: ada.id).decode(User.self).authProviders
                        == [.password]
                }
                // Without other credentials it is deleted, and the same notification deletes no later account.
                let (user, _) = try await signIn(identity, secondsAgo: 600)
                let payload = try await identity.apple.notification(type, of: "001", at: .now)
                try await tell(payload, to: identity)
                try await eventually("the account is gone") { try await identity.tables(of: user).isEmpty }
                let (anew, _) = try await signIn(identity, secondsAgo: 0)
                try await tell(payload, to: identity)
                #expect(anew != user && identity.tokens.live(anew) == 1)
            }
        }

        @Test func nothingButApplesWordCounts() async throws {
            try await withIdentity { identity in
                let (user, _) = try await signIn(identity, secondsAgo: 600)
                let genuine = try await identity.apple.notification("consent-revoked", of: "001", at: .now)
                let parts = genuine.split(separator: ".")
                let other = try await identity.apple.notification("account-delete", of: "001", at: .now)
                    .split(separator: ".")
                // An identity token is Apple's too, and no notification.
                let token = try identity.apple.token(sub: "001")
                for forged in ["\(parts[0]).\(other[1]).\(parts[2])", "\(parts[0]).\(parts[1]).", token, "x", ""] {
                    let answer = try await identity.post(
                        "/v1/auth/apple/notifications", AppleNotificationRequest(payload: forged))
                    #expect(answer.code == "INVALID_APPLE_TOKEN")
                }
                #expect(identity.tokens.live(user) == 1)
            }
        }
    }
}
