import Foundation
import GatehouseServiceContracts
import GatehouseServiceKit
import NIOHTTP1
import Postgres
import Synchronization
import TestKit
import Testing

@testable import IdentityService

extension AppleServiceTests {
    @Suite struct WithoutAppleTests {
        /// As an installation begins: Apple's developer account comes later.
        @Test func passwordsAloneServe() async throws {
            let files = try TemporaryFiles()
            defer { files.remove() }
            let key = Data(repeating: 2, count: 32).base64EncodedString()
            let production = [
                "GATEHOUSE_ENVIRONMENT": "production", "GATEHOUSE_RATE_LIMITS": "on",
                "IDENTITY_DATABASE_TLS": "optional", "IDENTITY_REDIS_TLS": "optional",
                "IDENTITY_SEALING_KEYS_FILE": try files.write("k1:\(key)\n"),
                "IDENTITY_PEPPER_KEYS_FILE": try files.write("p1:\(key)\n"),
                "IDENTITY_GATEWAY_CREDENTIALS": String(repeating: "g", count: 48),
                "IDENTITY_TOKENS_CREDENTIAL": FakeTokens.credentials[1],
                "IDENTITY_DEVICES_CREDENTIAL": String(repeating: "d", count: 48),
                "IDENTITY_APPLE_CLIENT_IDS": "", "IDENTITY_APPLE_TEAM_ID": "", "IDENTITY_APPLE_KEY_ID": "",
                "IDENTITY_APPLE_PRIVATE_KEY_FILE": "",
            ]
            try await withIdentity(production) { identity in
                _ = try await identity.register("ada@example.com")
                #expect(try await identity.login("ada@example.com").status == 200)
                for path in ["/v1/auth/apple", "/v1/auth/apple/nonce"] {
                    #expect(try await identity.send(.POST, path, json: "{}").code == "NOT_FOUND")
                }
            }
        }
    }

    @Suite struct AppleRoutesTests {
        @Test func aNewUserIsMadeAndFoundAgain() async throws {
            try await withIdentity { identity in
                let answer = try await identity.apple(
                    identity.apple.token(sub: "001", email: "Ada@Example.com"),
                    name: .init(givenName: "Ada", familyName: "Lovelace"))
                #expect(answer.status == 200)
                #expect(answer.header("Cache-Control") == "no-store")
                let first: AuthResponse = try answer.decode()
                #expect(first.user.email == "ada@example.com")
                #expect(first.user.emailVerified)
                #expect(first.user.displayName == "Ada Lovelace")
                #expect(first.user.authProviders == [.apple])

                // Apple tells address and name once.
                let again = try await identity.signIn("001")
                #expect(again.user == first.user)
                let other = try await identity.signIn("002")
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
                let first = try await identity.signIn("001")
                #expect(first.user.displayName == "Ada")
                let renamed: AuthResponse = try await identity.apple(
                    identity.apple.token(sub: "001"), name: .init(givenName: "Eve")
                ).decode()
                #expect(renamed.user.displayName == "Ada")

                let late = try await identity.signIn("002")
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

        @Test func whoVerifiesAnAddressGetsItFromWhoDidNot() async throws {
            try await withIdentity { identity in
                let squatter = try await identity.register("ada@example.com")
                let verifier = try await identity.signIn("001", email: "ada@example.com")
                #expect(verifier.user.id != squatter.user.id)
                #expect(verifier.user.email == "ada@example.com" && verifier.user.emailVerified)
                // The password no longer leads anywhere, least of all to the verifier.
                #expect(try await identity.login("ada@example.com").code == "INVALID_CREDENTIALS")
                let me: User = try await identity.send(.GET, "/v1/auth/me", as: squatter.user.id).decode()
                #expect(me.email == nil)
                try await eventually("tokens hears of it") {
                    identity.tokens.state.withLock { $0.snapshots[squatter.user.id] }?.user.email == nil
                        && identity.tokens.state.withLock { $0.snapshots[squatter.user.id] } != nil
                }
                // No other user can register the verified address.
                let late = try await identity.post(
                    "/v1/auth/register", RegisterRequest(identifier: "ada@example.com", password: "tulpenzwiebel"))
                #expect(late.code == "IDENTIFIER_TAKEN")
            }
        }

        @Test func anAddressThatAppleDoesNotVouchForBlocksNobody() async throws {
            try await withIdentity { identity in
                let unverified: AuthResponse = try await identity.apple(
                    identity.apple.token(sub: "001", email: "ada@example.com") { $0["email_verified"] = false }
                ).decode()
                #expect(unverified.user.email == "ada@example.com" && !unverified.user.emailVerified)
                let registered = try await identity.register("ada@example.com")
                #expect(registered.user.id != unverified.user.id)
            }
        }

        @Test func anAddressThatIsVerifiedLaterIsClaimed() async throws {
            try await withIdentity { identity in
                func signIn(_ subject: String, isVerified: Bool) async throws -> User {
                    try await identity.apple(
                        identity.apple.token(sub: subject, email: "ada@example.com") {
                            $0["email_verified"] = isVerified
                        }
                    ).decode(AuthResponse.self).user
                }
                #expect(try await !signIn("001", isVerified: false).emailVerified)
                let verified = try await signIn("001", isVerified: true)
                #expect(verified.emailVerified && verified.email == "ada@example.com")
                let late = try await identity.post(
                    "/v1/auth/register", RegisterRequest(identifier: "ada@example.com", password: "tulpenzwiebel"))
                #expect(late.code == "IDENTIFIER_TAKEN")
                // A second account does not get it, and another sign-in changes nothing.
                let second = try await signIn("002", isVerified: true)
                #expect(!second.emailVerified)
                #expect(try await signIn("002", isVerified: true) == second)
                #expect(try await signIn("001", isVerified: true) == verified)
            }
        }

        /// What an answer to a sign-in says beside the user.
        private struct Conflicts: Decodable {
            var conflictingIdentifiers: [String]?
        }

        /// Otherwise the user sees an empty account, and no way to the other one.
        @Test func aSignInTellsThatAnotherUserHasTheVerifiedAddress() async throws {
            try await withIdentity { identity in
                let owner = try await identity.signIn("001", email: "ada@example.com")
                for attempt in 1...2 {
                    let answer = try await identity.apple(identity.apple.token(sub: "002", email: "Ada@example.com"))
                    #expect(try answer.decode(Conflicts.self).conflictingIdentifiers == ["email"], "\(attempt)")
                    let auth: AuthResponse = try answer.decode()
                    #expect(auth.user.id != owner.user.id && auth.user.email == nil && !auth.user.emailVerified)
                    let snapshot = identity.tokens.state.withLock { $0.snapshots[auth.user.id] }
                    #expect(snapshot?.user.email == nil, "the access token's claim")
                    let me = try await identity.send(.GET, "/v1/auth/me", as: auth.user.id)
                    #expect(try me.decode(User.self).email == nil && !me.text.contains("conflicting"))
                }
                // An address that the user has does not hide the conflict.
                _ = try await identity.signIn("003", email: "ada@example.org")
                let moved = try await identity.apple(identity.apple.token(sub: "003", email: "ada@example.com"))
                #expect(try moved.decode(Conflicts.self).conflictingIdentifiers == ["email"])
                #expect(try moved.decode(AuthResponse.self).user.email == "ada@example.org")
            }
        }

        @Test func aSignInWithoutAConflictTellsOfNone() async throws {
            try await withIdentity { identity in
                func conflicts(_ answer: TestHTTPClient.Response) throws -> [String]? {
                    #expect(answer.status == 200 || answer.status == 201)
                    return try answer.decode(Conflicts.self).conflictingIdentifiers
                }
                let registered = try await identity.post(
                    "/v1/auth/register", RegisterRequest(identifier: "ada@example.com", password: "tulpenzwiebel"))
                #expect(try conflicts(registered) == nil)
                #expect(try await conflicts(identity.login("ada@example.com")) == nil)
                // Apple does not vouch for it; then it does, and the address changes its owner.
                let unverified = try identity.apple.token(sub: "001", email: "ada@example.com") {
                    $0["email_verified"] = false
                }
                let answer = try await identity.apple(unverified)
                #expect(try conflicts(answer) == nil)
                #expect(try answer.decode(AuthResponse.self).user.email == nil, "another user's, although unverified")
                let token = try identity.apple.token(sub: "001", email: "ada@example.com")
                for _ in 1...2 { #expect(try await conflicts(identity.apple(token)) == nil) }
                // An address of Apple's own forwards to one app's user, and joins nothing.
                _ = try await identity.signIn("002", email: "x1@privaterelay.appleid.com")
                let relayed = try identity.apple.token(sub: "003", email: "x1@privaterelay.appleid.com") {
                    $0["is_private_email"] = true
                }
                #expect(try await conflicts(identity.apple(relayed)) == nil)
                #expect(try await conflicts(identity.apple(identity.apple.token(sub: "004"))) == nil)
            }
        }

        @Test func aSecondVerifierOfAnAddressGoesWithoutIt() async throws {
            try await withIdentity { identity in
                let first = try await identity.signIn("001", email: "ada@example.com")
                let second = try await identity.signIn("002", email: "ada@example.com")
                #expect(second.user.id != first.user.id && !second.user.emailVerified)
                let me: User = try await identity.send(.GET, "/v1/auth/me", as: first.user.id).decode()
                #expect(me.email == "ada@example.com" && me.emailVerified)
            }
        }

        @Test func aChangedAddressIsFollowed() async throws {
            try await withIdentity { identity in
                let first = try await identity.signIn("001", email: "ada@example.com")
                let moved = try await identity.signIn("001", email: "ada@example.org")
                #expect(moved.user.id == first.user.id && moved.user.email == "ada@example.org")
                _ = try await identity.register("ada@example.com")
                // Another account has verified it: the old one stays.
                _ = try await identity.apple(identity.apple.token(sub: "002", email: "bell@example.com"))
                let refused = try await identity.signIn("001", email: "bell@example.com")
                #expect(refused.user.email == "ada@example.org")
            }
        }

        /// Each insertion of the Apple account finds that another request was faster.
        @Test func whoComesSecondEachTimeMayTryAgain() async throws {
            try await withIdentity { identity in
                try await identity.database.query(
                    """
                    CREATE FUNCTION lose() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$
                    """)
                try await identity.database.query(
                    """
                    CREATE TRIGGER losing BEFORE INSERT ON credentials FOR EACH ROW EXECUTE FUNCTION lose()
                    """)
                let answer = try await identity.apple(identity.apple.token(sub: "001"))
                #expect(answer.status == 503 && answer.code == "UNAVAILABLE")
                #expect(answer.header("Retry-After") != nil)
                #expect(try await identity.database.query("SELECT id FROM users").isEmpty)
            }
        }
    }
}
