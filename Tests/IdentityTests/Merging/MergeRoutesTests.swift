import Foundation
import GatehouseServiceContracts
import NIOHTTP1
import Postgres
import Synchronization
import TestKit
import Testing

@testable import IdentityService

extension AppleServiceTests {
    /// Making one account of two.
    @Suite struct MergeRoutesTests {
        private func merge(
            _ identity: Harness, _ request: MergeRequest, as user: UUID, session: UUID = UUID(), age: Int? = 0
        ) async throws -> TestHTTPClient.Response {
            try await identity.send(.POST, "/v1/auth/merge", as: user, session: session, age: age, body: request)
        }

        private func events(_ identity: Harness, of user: UUID) async throws -> [String] {
            try await identity.database.query(
                "SELECT event FROM audit_entries WHERE user_id = \(user) ORDER BY id"
            ).decode(String.self)
        }

        private func session(_ identity: Harness, of user: UUID) throws -> UUID {
            try #require(
                identity.tokens.state.withLock { state in
                    state.sessions.first { $0.value.snapshot.user.id == user }?.key
                })
        }

        /// A user verifies the address of a password account with Apple; the password merges the two accounts.
        @Test func theOldPasswordGetsTheOldAccount() async throws {
            try await withMessages { identity, _ in
                let old = try await identity.register("ada@example.com").user
                try await identity.database.query(
                    "UPDATE users SET created_at = now() - interval '1 day' WHERE id = \(old.id)")
                let new = try await identity.signIn("ada", email: "ada@example.com").user
                #expect(new.id != old.id && new.mergeableIdentifiers == [.email] && new.lostIdentifiers == nil)
                let lost: User = try await identity.send(.GET, "/v1/auth/me", as: old.id).decode()
                #expect(lost.email == nil && lost.lostIdentifiers == [.email] && lost.mergeableIdentifiers == nil)

                let late = try await merge(identity, MergeRequest(password: "tulpenzwiebel"), as: new.id, age: 700)
                #expect(late.code == "REAUTHENTICATION_REQUIRED")
                let wrong = try await merge(identity, MergeRequest(password: "kaffeekuchen"), as: new.id)
                #expect(wrong.status == 401 && wrong.code == "INVALID_CREDENTIALS")
                let answer = try await merge(identity, MergeRequest(password: "tulpenzwiebel"), as: new.id)
                #expect(answer.status == 200 && answer.header("Cache-Control") == "no-store", "\(answer.text)")
                let merged = try answer.decode(MergeResponse.self)
                #expect(merged.user.id == old.id && merged.session?.user == merged.user)
                #expect(merged.user.email == "ada@example.com" && merged.user.emailVerified)
                #expect(merged.user.authProviders == [.apple, .password])
                #expect(merged.user.lostIdentifiers == nil && merged.user.mergeableIdentifiers == nil)
                #expect(identity.tokens.live(old.id) == 1, "the new one alone")
                try await eventually("the other account is gone") {
                    identity.devices.state.withLock { $0.erased.contains(new.id) }
                }
                #expect(try await identity.login("ada@example.com").decode(AuthResponse.self).user.id == old.id)
                #expect(try await identity.signIn("ada", email: "ada@example.com").user.id == old.id)
                try await eventually("nothing is left") { try await identity.tables(of: new.id).isEmpty }
                #expect(identity.tokens.live(new.id) == 0)
                #expect(try await events(identity, of: new.id).suffix(2) == ["merged", "deleted"])
                #expect(try await events(identity, of: old.id).contains("absorbed"))
            }
        }

        /// From the old account's living session; it goes on. Clients of the release before ask for a code to verify.
        @Test(arguments: [CodePurpose.merge, .verify])
        func aLivingSessionAndACodeGetTheOldAccount(purpose: CodePurpose) async throws {
            try await withMessages { identity, messages in
                let old = try await identity.register("ada@example.com").user
                let session = try session(identity, of: old.id)
                let new = try await identity.verify("ada@example.com", in: messages)
                let code = try await identity.code(for: purpose, to: "ada@example.com", 2, in: messages)
                let message = try await messages.message(2, to: "ada@example.com")
                #expect(message.contains("join your account") == (purpose == .merge), "\(message)")
                let request = MergeRequest(code: code, identifier: "ada@example.com")
                let merged: MergeResponse = try await merge(identity, request, as: old.id, session: session).decode()
                #expect(merged.user.id == old.id && merged.session == nil)
                #expect(merged.user.emailVerified && merged.user.authProviders == [.password])
                #expect(identity.tokens.live(old.id) == 1 && identity.tokens.live(new.id) == 0)
                let again = try await merge(identity, request, as: old.id, session: session)
                #expect(again.status == 401, "a code serves once")
            }
        }

        /// The message says what the code does, so the code does nothing else.
        @Test func aCodeToMergeServesForNothingElse() async throws {
            try await withMessages { identity, messages in
                let user = try await identity.register("ada@example.com").user.id
                let code = try await identity.code(for: .merge, to: "ada@example.com", in: messages)
                let presented = VerifyCodeRequest(identifier: "ada@example.com", code: code)
                #expect(try await identity.post("/v1/auth/code/verify", presented).status == 401)
                #expect(try await identity.send(.POST, "/v1/auth/code/verify", as: user, body: presented).status == 401)
                let change = ChangeIdentifierRequest(identifier: "ada@example.com", code: code)
                let set = try await identity.send(.PUT, "/v1/auth/identifiers/email", as: user, body: change)
                #expect(set.code == "INVALID_CREDENTIALS")
            }
        }

        /// An account with a role that has lost its address gets it back, and keeps the role.
        @Test(arguments: [true, false])
        func anAccountWithRightsGetsItsLostAddressBack(byPassword: Bool) async throws {
            try await withMessages { identity, messages in
                let old = try await identity.register("ada@example.com").user.id
                try await identity.database.query(
                    "UPDATE users SET role = 'courier', store_ids = '{berlin}' WHERE id = \(old)")
                let new = try await identity.verify("ada@example.com", in: messages).id
                let request: MergeRequest
                if byPassword {
                    request = MergeRequest(password: "tulpenzwiebel")
                } else {
                    let code = try await identity.code(for: .merge, to: "ada@example.com", 2, in: messages)
                    request = MergeRequest(code: code, identifier: "ada@example.com")
                }
                let answer = try await merge(identity, request, as: byPassword ? new : old)
                let merged = try answer.decode(MergeResponse.self).user
                #expect(merged.id == old && merged.role == "courier" && merged.storeIds == ["berlin"])
                #expect(merged.email == "ada@example.com" && merged.emailVerified)
            }
        }

        @Test func anAppleAccountComesWithItsGrant() async throws {
            try await withMessages { identity, _ in
                let old = try await identity.register("ada@example.com").user
                let token = try identity.apple.token(sub: "ada")
                let signedIn = try await identity.apple(token, code: identity.apple.code(of: "ada"))
                let new = try signedIn.decode(AuthResponse.self).user
                try await eventually("the code is exchanged") {
                    try await identity.database.query(
                        "SELECT subject FROM apple_identities JOIN credentials ON id = credential_id WHERE refresh_token IS NOT NULL"
                    ).count == 1
                }
                let request = MergeRequest(identityToken: try identity.apple.token(sub: "ada"))
                let merged: MergeResponse = try await merge(identity, request, as: old.id).decode()
                #expect(merged.user.id == old.id && merged.user.authProviders == [.apple, .password])
                try await eventually("the other account is gone") { try await identity.tables(of: new.id).isEmpty }
                #expect(await identity.apple.refreshTokens(of: "ada").count == 1)
                // Repeated, since the answer may have been lost.
                let again: MergeResponse = try await merge(identity, request, as: old.id).decode()
                #expect(again.user.id == old.id && again.session == nil)
                // The token can still be opened, for the account that has it now.
                #expect(try await identity.send(.DELETE, "/v1/auth/account", as: old.id).status == 202)
                try await eventually("it is revoked") { await identity.apple.refreshTokens(of: "ada").isEmpty }
            }
        }

        @Test func whatBothHaveTheOlderOneKeeps() async throws {
            try await withMessages { identity, messages in
                let old = try await identity.signIn("ada", email: "ada@example.com").user
                let phone = try await identity.code(for: .signIn, to: "+491711234567", in: messages)
                let new = try await identity.post(
                    "/v1/auth/code/verify", VerifyCodeRequest(identifier: "+491711234567", code: phone)
                ).decode(AuthResponse.self).user
                let linked = try await identity.send(
                    .POST, "/v1/auth/identities/apple", as: new.id,
                    body: LinkAppleRequest(identityToken: try identity.apple.token(sub: "bea")))
                #expect(linked.status == 200)
                let request = MergeRequest(identityToken: try identity.apple.token(sub: "ada"))
                let merged: MergeResponse = try await merge(identity, request, as: new.id).decode()
                #expect(merged.user.id == old.id && merged.session?.user.id == old.id)
                #expect(merged.user.email == "ada@example.com" && merged.user.phone == "+491711234567")
                #expect(try await identity.signIn("bea").user.id != old.id, "one Apple account for each user")
            }
        }

        @Test func whatIsNotMerged() async throws {
            try await withMessages { identity, messages in
                let ada = try await identity.register("ada@example.com").user.id
                let bea = try await identity.register("bea@example.com", "kaffeekuchen").user.id
                let request = MergeRequest(password: "kaffeekuchen", identifier: "bea@example.com")
                try await identity.database.query("UPDATE users SET role = 'operator' WHERE id = \(bea)")
                #expect(try await merge(identity, request, as: ada).code == "FORBIDDEN")
                try await identity.database.query(
                    "UPDATE users SET role = 'user', state = 'disabled' WHERE id = \(bea)")
                #expect(try await merge(identity, request, as: ada).code == "ACCOUNT_DISABLED")
                try await identity.database.query("UPDATE users SET state = 'active'")
                let cea = try await identity.verify("cea@example.com", in: messages).id
                let code = try await identity.code(for: .verify, to: "eve@example.com", in: messages)
                let changed = try await identity.send(
                    .PUT, "/v1/auth/identifiers/email", as: cea,
                    body: ChangeIdentifierRequest(identifier: "eve@example.com", code: code))
                #expect(changed.status == 200)
                let late = try await merge(identity, request, as: cea)
                #expect(late.code == "FORBIDDEN" && late.text.contains("three days"), "\(late.text)")
                for wrong in [
                    MergeRequest(password: "tulpenzwiebel", identifier: "bea@example.com"),
                    MergeRequest(password: "kaffeekuchen"),
                    MergeRequest(code: "012345", identifier: "bea@example.com"),
                ] {
                    #expect(try await merge(identity, wrong, as: ada).code == "INVALID_CREDENTIALS")
                }
                let nobody = MergeRequest(identityToken: try identity.apple.token(sub: "nobody"))
                #expect(try await merge(identity, nobody, as: ada).code == "INVALID_APPLE_TOKEN")
                let both = #"{"password":"kaffeekuchen","identityToken":"x"}"#
                for json in ["{}", both] {
                    let refused = try await identity.send(.POST, "/v1/auth/merge", as: ada, json: json)
                    #expect(try refused.problem().errors?.map(\.field) == ["password"])
                }
                #expect(try await identity.database.query("SELECT id FROM users").count == 3)
            }
        }

        /// The rows are merged, and the other services are told when they are back.
        @Test func withoutTokensTheOutboxGoesOn() async throws {
            try await withMessages { identity, _ in
                let old = try await identity.register("ada@example.com").user
                let new = try await identity.register("+491711234567", "kaffeekuchen").user
                identity.tokens.state.withLock { $0.isDown = true }
                let request = MergeRequest(password: "tulpenzwiebel", identifier: "ada@example.com")
                #expect(try await merge(identity, request, as: new.id).code == "UNAVAILABLE")
                #expect(identity.tokens.live(new.id) == 1)
                identity.tokens.state.withLock { $0.isDown = false }
                try await identity.database.query("UPDATE outbox SET next_attempt_at = now()")
                try await eventually("the sessions end") {
                    identity.tokens.live(new.id) == 0 && identity.tokens.live(old.id) == 0
                }
                let auth: AuthResponse = try await identity.login("+491711234567").decode()
                #expect(auth.user.id == old.id && auth.user.email == "ada@example.com")
                try await eventually("nothing is left") { try await identity.tables(of: new.id).isEmpty }
            }
        }

        /// Others learn where the user went, before they are told that they are gone.
        @Test func theFeedTellsWhoBecameWhom() async throws {
            try await withIdentity { identity in
                let old = try await identity.register("ada@example.com").user
                let new = try await identity.register("+491711234567", "kaffeekuchen").user
                let request = MergeRequest(password: "tulpenzwiebel", identifier: "ada@example.com")
                #expect(try await merge(identity, request, as: new.id).status == 200)
                try await sequenceAudit(on: identity.database)
                let page = try await EventFeedStore(database: identity.database, logger: .quiet)
                    .page(after: nil, waitingUntil: .now)
                let told = page.events.filter { $0.userID == new.id }.suffix(2)
                #expect(told.map(\.type) == [.userMerged, .userDeleted])
                #expect(told.map(\.intoUserID) == [old.id.uuidString.lowercased(), nil])
            }
        }
    }
}
