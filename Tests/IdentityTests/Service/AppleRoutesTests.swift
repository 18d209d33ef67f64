import Contracts
import Foundation
import ServiceKit
import NIOHTTP1
import Postgres
import Synchronization
import TestKit
import Testing

@testable import IdentityService

extension ServiceTests {
    @Suite struct AppleRoutesTests {
        @Test func aNewUserIsMadeAndFoundAgain() async throws {
            try await withIdentity { identity in
                let answer = try await identity.apple(
                    identity.apple.token(sub: "001", email: "Ada@Example.com"),
                    name: .init(givenName: "Ada", familyName: "Lovelace"))
                #expect(answer.status == 200)
                #expect(answer.headers.first(name: "Cache-Control") == "no-store")
                let first: AuthResponse = try answer.decode()
                #expect(first.user.email == "ada@example.com")
                #expect(first.user.emailVerified)
                #expect(first.user.displayName == "Ada Lovelace")
                #expect(first.user.authProviders == [.apple])

                // Apple tells address and name once.
                let again: AuthResponse = try await identity.apple(identity.apple.token(sub: "001")).decode()
                #expect(again.user == first.user)
                let other: AuthResponse = try await identity.apple(identity.apple.token(sub: "002")).decode()
                #expect(other.user.id != first.user.id)
                #expect(other.user.email == nil)
            }
        }

        @Test func theNameIsKeptWhenItFirstArrives() async throws {
            try await withIdentity { identity in
                identity.tokens.state.withLock { $0.isDown = true }
                let name = AppleSignInRequest.FullName(givenName: "Ada")
                let failed = try await identity.apple(identity.apple.token(sub: "001"), name: name)
                #expect(failed.code == "UNAVAILABLE")
                identity.tokens.state.withLock { $0.isDown = false }
                let first: AuthResponse = try await identity.apple(identity.apple.token(sub: "001")).decode()
                #expect(first.user.displayName == "Ada")
                let renamed: AuthResponse = try await identity.apple(
                    identity.apple.token(sub: "001"), name: .init(givenName: "Eve")
                ).decode()
                #expect(renamed.user.displayName == "Ada")

                let late: AuthResponse = try await identity.apple(identity.apple.token(sub: "002")).decode()
                let named: AuthResponse = try await identity.apple(
                    identity.apple.token(sub: "002"), name: .init(familyName: "Bell")
                ).decode()
                #expect(late.user.displayName == nil && named.user.displayName == "Bell")
            }
        }

        @Test func manyAtOnceMakeOneAccount() async throws {
            try await withIdentity { identity in
                let ids = try await withThrowingTaskGroup(of: UUID.self) { group in
                    for _ in 0..<20 {
                        group.addTask {
                            try await identity.apple(identity.apple.token(sub: "001", email: "ada@example.com"))
                                .decode(AuthResponse.self).user.id
                        }
                    }
                    return try await group.reduce(into: Set<UUID>()) { $0.insert($1) }
                }
                #expect(ids.count == 1)
                #expect(try await identity.database.query("SELECT id FROM users").count == 1)
            }
        }

        @Test func theBodysAddressCountsForNothing() async throws {
            try await withIdentity { identity in
                let victim = try await identity.register("ada@example.com")
                let answer = try await identity.post(
                    "/v1/auth/apple",
                    AppleSignInRequest(identityToken: identity.apple.token(sub: "001"), email: "ada@example.com"))
                let auth: AuthResponse = try answer.decode()
                #expect(auth.user.id != victim.user.id)
                #expect(auth.user.email == nil)
            }
        }

        @Test func whoProvesAnAddressGetsItFromWhoDidNot() async throws {
            try await withIdentity { identity in
                let squatter = try await identity.register("ada@example.com")
                let prover: AuthResponse = try await identity.apple(
                    identity.apple.token(sub: "001", email: "ada@example.com")
                ).decode()
                #expect(prover.user.id != squatter.user.id)
                #expect(prover.user.email == "ada@example.com" && prover.user.emailVerified)
                // The password no longer leads anywhere, least of all to the prover.
                #expect(try await identity.login("ada@example.com").code == "INVALID_CREDENTIALS")
                let me: User = try await identity.send(.GET, "/v1/auth/me", as: squatter.user.id).decode()
                #expect(me.email == nil)
                try await eventually("tokens hears of it") {
                    identity.tokens.state.withLock { $0.snapshots[squatter.user.id] }?.user.email == nil
                        && identity.tokens.state.withLock { $0.snapshots[squatter.user.id] } != nil
                }
                // And what is proved cannot be registered by anybody else.
                let late = try await identity.post(
                    "/v1/auth/register", RegisterRequest(identifier: "ada@example.com", password: "tulpenzwiebel"))
                #expect(late.code == "IDENTIFIER_TAKEN")
            }
        }

        @Test func anAddressThatAppleDoesNotVouchForBlocksNobody() async throws {
            try await withIdentity { identity in
                let unproved: AuthResponse = try await identity.apple(
                    identity.apple.token(sub: "001", email: "ada@example.com") { $0["email_verified"] = false }
                ).decode()
                #expect(unproved.user.email == "ada@example.com" && !unproved.user.emailVerified)
                let registered = try await identity.register("ada@example.com")
                #expect(registered.user.id != unproved.user.id)
            }
        }

        @Test func aSecondProverOfAnAddressGoesWithoutIt() async throws {
            try await withIdentity { identity in
                let first: AuthResponse = try await identity.apple(
                    identity.apple.token(sub: "001", email: "ada@example.com")
                ).decode()
                let second: AuthResponse = try await identity.apple(
                    identity.apple.token(sub: "002", email: "ada@example.com")
                ).decode()
                #expect(second.user.id != first.user.id && !second.user.emailVerified)
                let me: User = try await identity.send(.GET, "/v1/auth/me", as: first.user.id).decode()
                #expect(me.email == "ada@example.com" && me.emailVerified)
            }
        }

        @Test func aChangedAddressIsFollowed() async throws {
            try await withIdentity { identity in
                let first: AuthResponse = try await identity.apple(
                    identity.apple.token(sub: "001", email: "ada@example.com")
                ).decode()
                let moved: AuthResponse = try await identity.apple(
                    identity.apple.token(sub: "001", email: "ada@example.org")
                ).decode()
                #expect(moved.user.id == first.user.id && moved.user.email == "ada@example.org")
                _ = try await identity.register("ada@example.com")
                // Taken by somebody who proved it: the old one stays.
                _ = try await identity.apple(identity.apple.token(sub: "002", email: "bell@example.com"))
                let refused: AuthResponse = try await identity.apple(
                    identity.apple.token(sub: "001", email: "bell@example.com")
                ).decode()
                #expect(refused.user.email == "ada@example.org")
            }
        }

        @Test func badTokensAreRefused() async throws {
            try await withIdentity { identity in
                let apple = identity.apple
                let header = { (text: String) in Data(text.utf8) }
                let now = Int(Date.now.timeIntervalSince1970)
                let claims = header(
                    #"{"iss":"https://appleid.apple.com","aud":"com.example.app","sub":"001","iat":\#(now),"exp":\#(now + 600)}"#
                )
                let good = header(#"{"alg":"RS256","kid":"first"}"#)
                #expect(try await identity.apple(apple.sign(header: good, payload: claims)).status == 200)
                let whole = try apple.token(sub: "001")
                let parts = whole.split(separator: ".").map(String.init)
                var tokens = [
                    "", ".", "..", "a.b.c", parts[0] + "." + parts[1], whole + ".", whole + ".AAAA", whole + "=",
                    parts[0] + "." + parts[1] + ".", String(whole.dropLast(8)), String(repeating: ".", count: 9000),
                    String(repeating: "A", count: 10_000),
                    try apple.token(sub: "001") { $0["aud"] = "com.example.other" },
                    try apple.token(sub: "001") { $0["aud"] = ["com.example.app"] },
                    try apple.token(sub: "001") { $0["iss"] = "https://accounts.google.com" },
                    try apple.token(sub: "001") { $0["exp"] = now - 3600 },
                    try apple.token(sub: "001") { $0["exp"] = "\(now + 600)" },
                    try apple.token(sub: "001") { $0["exp"] = nil },
                    try apple.token(sub: "001") { $0["exp"] = 1e300 },
                    try apple.token(sub: "001") { $0["iat"] = now - 3700 },
                    try apple.token(sub: "001") { $0["iat"] = now + 3700 },
                    try apple.token(sub: "") { _ in },
                    try apple.token(sub: "001") { $0["sub"] = 7 },
                    try apple.sign(header: header(#"{"alg":"none","kid":"first"}"#), payload: claims),
                    try apple.sign(header: header(#"{"alg":"HS256","kid":"first"}"#), payload: claims),
                    try apple.sign(header: header(#"{"alg":"rs256","kid":"first"}"#), payload: claims),
                    try apple.sign(header: header(#"{"alg":"RS256"}"#), payload: claims),
                    try apple.sign(header: header(#"{"alg":"RS256","kid":7}"#), payload: claims),
                    try apple.sign(
                        header: header(#"{"alg":"RS256","kid":"\#(String(repeating: "k", count: 200))"}"#),
                        payload: claims),
                    try apple.sign(header: header(#"{"alg":"RS256","kid":"first","crit":["exp"]}"#), payload: claims),
                    try apple.sign(header: header(#"{"alg":"RS256","kid":"first","crit":null}"#), payload: claims),
                    try apple.sign(header: header(#"{"alg":"RS256","kid":"first","b64":false}"#), payload: claims),
                    try apple.sign(header: header(#"{"alg":"RS256","kid":"first","typ":"at+jwt"}"#), payload: claims),
                    try apple.sign(header: header(#"{"alg":"none","alg":"RS256","kid":"first"}"#), payload: claims),
                    try apple.sign(header: good, payload: header(#"{"sub":"002","sub":"001"}"#)),
                    try apple.sign(header: good, payload: header("{}")),
                    try apple.sign(header: good, payload: header("[]")),
                ]
                // Signed by a key that Apple does not publish, under the name of one that it does.
                tokens.append(try apple.sign(header: good, payload: claims, kid: "second"))
                for token in tokens {
                    let answer = try await identity.apple(token)
                    #expect(answer.status == 401, "\(token.prefix(80))")
                    #expect(answer.code == "INVALID_APPLE_TOKEN")
                }
                #expect(try await identity.database.query("SELECT id FROM users").count == 1)
            }
        }

        @Test func bothOfApplesNamesCount() async throws {
            try await withIdentity { identity in
                let token = try identity.apple.token(sub: "001") { $0["iss"] = "https://account.apple.com" }
                #expect(try await identity.apple(token).status == 200)
            }
        }

        @Test(arguments: [FakeApple.Mode.down, .garbage])
        func appleBeingAwayIsNotTheUsersFault(mode: FakeApple.Mode) async throws {
            try await withIdentity { identity in
                identity.apple.set(mode)
                let answer = try await identity.apple(identity.apple.token(sub: "1"))
                #expect(answer.status == 503)
                #expect(answer.code == "UNAVAILABLE")
                #expect(answer.headers.contains(name: "Retry-After"))
                identity.apple.set(.none)
                try await eventually("Apple is asked again") {
                    try await identity.apple(identity.apple.token(sub: "1")).status == 200
                }
                identity.apple.set(mode)
                // Known keys go on working.
                #expect(try await identity.apple(identity.apple.token(sub: "1")).status == 200)
                #expect(try await identity.apple(identity.apple.token(sub: "1", kid: "second")).code == "UNAVAILABLE")
            }
        }

        @Test func newKeysAreFetchedOnceForManyAndForgedNamesNotAtAll() async throws {
            // However long the test takes, it is over before another unknown name would be worth a fetch.
            try await withIdentity(["IDENTITY_APPLE_KEYS_COOLDOWN": "3600"]) { identity in
                #expect(try await identity.apple(identity.apple.token(sub: "1")).status == 200)
                #expect(identity.apple.state.withLock { $0.keyRequests } == 1)
                identity.apple.publish("second")
                let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                    for _ in 0..<10 {
                        group.addTask { try await identity.apple(identity.apple.token(sub: "1", kid: "second")).status }
                    }
                    return try await group.reduce(into: [Int]()) { $0.append($1) }
                }
                #expect(statuses == Array(repeating: 200, count: 10))
                #expect(identity.apple.state.withLock { $0.keyRequests } == 2)
                for index in 0..<20 {
                    let forged = try identity.apple.token(sub: "1", kid: "second", header: ["kid": "forged-\(index)"])
                    #expect(try await identity.apple(forged).code == "INVALID_APPLE_TOKEN")
                }
                #expect(identity.apple.state.withLock { $0.keyRequests } == 2)
                // The key that was taken away no longer counts.
                #expect(try await identity.apple(identity.apple.token(sub: "1")).code == "INVALID_APPLE_TOKEN")
            }
        }

        @Test func codesBecomeSealedRefreshTokens() async throws {
            try await withIdentity { identity in
                let auth: AuthResponse = try await identity.apple(identity.apple.token(sub: "1"), code: "c0de").decode()
                try await eventually("the code is exchanged") {
                    try await identity.database.query(
                        "SELECT user_id FROM apple_identities WHERE refresh_token IS NOT NULL"
                    ).count == 1
                }
                let form = try #require(identity.apple.state.withLock { $0.exchanged.first })
                #expect(form["code"] == "c0de")
                #expect(form["client_id"] == "com.example.app")
                #expect(form["grant_type"] == "authorization_code")
                #expect(form["client_secret"]?.split(separator: ".").count == 3)
                let sealed = try await identity.database.query("SELECT refresh_token FROM apple_identities")[0].decode(
                    Data.self)
                #expect(sealed.range(of: Data("r-c0de".utf8)) == nil)
                try await eventually("the outbox is empty") { try await identity.outboxCount == 0 }
                #expect(identity.tokens.live(auth.user.id) == 1)
            }
        }

        @Test func aCodeThatCannotBeExchangedFailsNothing() async throws {
            try await withIdentity { identity in
                identity.apple.state.withLock { $0.knowsCodes = false }
                #expect(try await identity.apple(identity.apple.token(sub: "1"), code: "c0de").status == 200)
                try await eventually("Apple is asked") { identity.apple.state.withLock { $0.exchanged.count } == 1 }
                try await eventually("the code is forgotten") { try await identity.outboxCount == 0 }
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
                #expect(try await identity.apple(identity.apple.token(sub: "001"), code: "c0de").status == 200)
                try await eventually("Apple is told") { identity.apple.state.withLock { !$0.revoked.isEmpty } }
                try await eventually("the outbox is empty") { try await identity.outboxCount == 0 }
                #expect(identity.apple.state.withLock { $0.revoked.allSatisfy { $0["token"] == "r-c0de" } })
                let kept = try await identity.database.query(
                    "SELECT subject, refresh_token IS NOT NULL FROM apple_identities"
                ).decode((String, Bool).self)
                #expect(kept.count == 1 && kept[0] == ("002", false))
            }
        }
    }
}
