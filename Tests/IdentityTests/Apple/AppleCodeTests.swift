import Foundation
import GatehouseServiceContracts
import GatehouseServiceKit
import HTTPTypes
import NIOHTTP1
import Postgres
import Synchronization
import TestKit
import Testing

@testable import IdentityService

extension AppleServiceTests {
    /// Authorization codes become Apple's refresh tokens.
    @Suite struct AppleCodeTests {
        @Test func codesBecomeSealedRefreshTokens() async throws {
            try await withIdentity { identity in
                let auth: AuthResponse = try await identity.apple(
                    identity.apple.token(sub: "1"), code: identity.apple.code(of: "1")
                ).decode()
                try await eventually("the code is exchanged") {
                    try await identity.database.query(
                        "SELECT user_id FROM apple_identities JOIN credentials ON id = credential_id WHERE refresh_token IS NOT NULL"
                    ).count == 1
                }
                let token = try #require(await identity.apple.refreshTokens(of: "1").first)
                let sealed = try await identity.database.query(
                    "SELECT refresh_token FROM apple_identities JOIN credentials ON id = credential_id")[0].decode(
                        Data.self)
                #expect(sealed.range(of: Data(token.utf8)) == nil)
                try await eventually("the outbox is empty") { try await identity.outboxCount == 0 }
                #expect(identity.tokens.live(auth.user.id) == 1)
            }
        }

        @Test func aCodeThatCannotBeExchangedFailsNothing() async throws {
            try await withIdentity { identity in
                #expect(try await identity.apple(identity.apple.token(sub: "1"), code: "unknown").status == 200)
                try await eventually("Apple is asked") { identity.apple.requests(to: "/auth/token").count == 1 }
                try await eventually("the code is forgotten") { try await identity.outboxCount == 0 }
            }
        }

        /// Otherwise deleting this account would later end another user's consent. Without an identity token Apple does
        /// not say whose the code is.
        @Test(arguments: [true, false])
        func aCodeThatIsNotTheUsersIsNotKept(hasIdentityToken: Bool) async throws {
            try await withIdentity { identity in
                if !hasIdentityToken {
                    let answer = #"{"access_token":"a","refresh_token":"r","expires_in":3600}"#
                    identity.apple.state.withLock { $0.answers["/auth/token"] = [(.ok, answer)] }
                }
                let auth: AuthResponse = try await identity.apple(
                    identity.apple.token(sub: "1"), code: identity.apple.code(of: "2")
                ).decode()
                try await eventually("Apple is told") { identity.apple.requests(to: "/auth/revoke").count == 1 }
                #expect(await identity.apple.refreshTokens(of: "2").isEmpty)
                let revoked = identity.apple.requests(to: "/auth/revoke")[0]["token"]
                #expect(hasIdentityToken || revoked == "r")
                try await eventually("the outbox is empty") { try await identity.outboxCount == 0 }
                let kept = try await identity.database.query(
                    "SELECT subject FROM apple_identities JOIN credentials ON id = credential_id WHERE refresh_token IS NOT NULL"
                )
                #expect(kept.isEmpty)
                #expect(identity.tokens.live(auth.user.id) == 1)
            }
        }

        /// A code serves once: a service that is told to stop in the middle of its exchange waits for Apple's answer.
        @Test func aCodeIsNotLostWhenTheServiceStops() async throws {
            try await withIdentity(afterwards: { database in
                let kept = try await database.query(
                    "SELECT subject FROM apple_identities JOIN credentials ON id = credential_id WHERE refresh_token IS NOT NULL"
                )
                #expect(kept.count == 1)
                #expect(try await database.query("SELECT id FROM outbox").isEmpty)
            }) { identity in
                let client = TestHTTPClient(identity.url)
                let asked = Once()
                identity.apple.state.withLock { state in
                    state.whileExchanging = {
                        asked.take()
                        // Apple answers when the service has closed its port.
                        while (try? await client.get("/v1/auth/me")) != nil {
                            try? await Task.sleep(for: .milliseconds(10))
                        }
                    }
                }
                let signedIn = try await identity.apple(
                    identity.apple.token(sub: "1"), code: identity.apple.code(of: "1"))
                #expect(signedIn.status == 200)
                try await eventually("Apple is asked") { asked.isTaken }
            }
        }

        /// While the code is exchanged the user puts another Apple account in the place of the one that it came with.
        @Test func aTokenOfAnAppleAccountThatWasReplacedIsGivenBack() async throws {
            try await withIdentity { identity in
                let ada = try await identity.register("ada@example.com").user.id
                @Sendable func link(_ subject: String) async throws {
                    let token = try identity.apple.token(sub: subject)
                    let linked = try await identity.send(
                        .POST, "/v1/auth/identities/apple", as: ada, json: #"{"identityToken":"\#(token)"}"#)
                    #expect(linked.status == 200)
                }
                try await link("001")
                let once = Once()
                identity.apple.state.withLock { state in
                    state.whileExchanging = {
                        guard once.take() else { return }
                        do {
                            let unlinked = try await identity.send(.DELETE, "/v1/auth/identities/apple", as: ada)
                            #expect(unlinked.status == 200)
                            try await link("002")
                        } catch {
                            Issue.record(error)
                        }
                    }
                }
                let signedIn = try await identity.apple(
                    identity.apple.token(sub: "001"), code: identity.apple.code(of: "001"))
                #expect(signedIn.status == 200)
                try await eventually("Apple is told") { !identity.apple.requests(to: "/auth/revoke").isEmpty }
                try await eventually("the outbox is empty") { try await identity.outboxCount == 0 }
                #expect(await identity.apple.refreshTokens(of: "001").isEmpty)
                let kept = try await identity.database.query(
                    "SELECT subject, refresh_token IS NOT NULL FROM apple_identities JOIN credentials ON id = credential_id"
                ).decode((String, Bool).self)
                #expect(kept.count == 1 && kept[0] == ("002", false))
            }
        }
    }
}
