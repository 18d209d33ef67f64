import Foundation
import GatehouseServiceContracts
import NIOHTTP1
import Postgres
import Synchronization
import TestKit
import Testing

@testable import IdentityCore
@testable import IdentityService

extension ServiceTests {
    /// A user's own address and number, and what undoes a change of them.
    @Suite struct IdentifierRoutesTests {
        private static let path = "/v1/auth/identifiers/email"

        private func change(
            _ identity: Harness, _ user: UUID, to identifier: String, code: String, age: Int? = 0
        ) async throws -> TestHTTPClient.Response {
            try await identity.send(
                .PUT, Self.path, as: user, age: age, body: ChangeIdentifierRequest(identifier: identifier, code: code))
        }

        /// A mail program writes the domain in Unicode, a web server's log in the form of DNS: it is one address.
        @Test func aDomainInUnicodeIsOneAddressInBothForms() async throws {
            try await withIdentity { identity in
                let first = try await identity.register("ada@xn--mnchen-3ya.example")
                #expect(first.user.email == "ada@münchen.example")
                let snapshot = identity.tokens.state.withLock { $0.snapshots[first.user.id] }
                #expect(snapshot?.user.email == "ada@münchen.example", "the access token's claim")
                for spelling in ["ada@münchen.example", "Ada@MÜNCHEN。example", "ada@xn--mnchen-3ya.example"] {
                    let answer = try await identity.login(spelling)
                    #expect(answer.status == 200, "\(spelling)")
                    #expect(try answer.decode(AuthResponse.self).user.id == first.user.id)
                    let taken = try await identity.post(
                        "/v1/auth/register", RegisterRequest(identifier: spelling, password: "another than that"))
                    #expect(taken.code == "IDENTIFIER_TAKEN", "\(spelling)")
                    let weak = try await identity.post(
                        "/v1/auth/register", RegisterRequest(identifier: spelling, password: "ada@münchen.example"))
                    #expect(weak.code == "WEAK_PASSWORD")
                }
                let value = try await identity.database.query("SELECT value FROM identifiers")[0].decode(String.self)
                #expect(value == "ada@xn--mnchen-3ya.example")
            }
        }

        private func events(_ identity: Harness, of user: UUID) async throws -> [String] {
            try await identity.database.query(
                "SELECT event FROM audit_entries WHERE user_id = \(user) ORDER BY id"
            ).decode(String.self)
        }

        /// The token in the notice to a former identifier.
        private func token(_ number: Int, to identifier: String, in messages: MessageFiles) async throws -> String {
            let text = try await messages.message(number, to: identifier)
            return String(try #require(text.firstMatch(of: /ghiu_[A-Za-z0-9_-]+/), "\(text)").0)
        }

        private func undo(_ identity: Harness, _ token: String) async throws -> TestHTTPClient.Response {
            try await identity.post("/v1/auth/identifiers/undo", UndoIdentifierChangeRequest(token: token))
        }

        @Test func anAddressIsChangedByProofOfTheNewOne() async throws {
            try await withMessages { identity, messages in
                let id = try await identity.register("ada@example.com").user.id
                let code = try await identity.code(for: .verify, to: "ada@example.org", in: messages)
                let late = try await change(identity, id, to: "ada@example.org", code: code, age: 700)
                #expect(late.status == 403 && late.code == "REAUTHENTICATION_REQUIRED")
                let wrong = try await change(identity, id, to: "eve@example.org", code: code)
                #expect(wrong.status == 401 && wrong.code == "INVALID_CREDENTIALS")
                let phone = try await change(identity, id, to: "+491711234567", code: code)
                #expect(try phone.problem().errors?.map(\.field) == ["identifier"])
                let changed = try await change(identity, id, to: "ADA@example.org", code: code)
                let user = try changed.decode(User.self)
                #expect(user.id == id && user.email == "ada@example.org" && user.emailVerified)
                #expect(try await identity.login("ada@example.org").status == 200)
                #expect(try await identity.login("ada@example.com").code == "INVALID_CREDENTIALS")
                #expect(try await change(identity, id, to: "ada@example.org", code: code).status == 401)
                // The former one was never verified: a stranger may read there.
                let rows = try await identity.database.query("SELECT digest FROM identifier_changes")
                #expect(rows.isEmpty && messages.messages(to: "ada@example.com").isEmpty)
                #expect(try await events(identity, of: id).contains("identifier_changed"))
            }
        }

        @Test func whoeverHasVerifiedItKeepsIt() async throws {
            try await withMessages { identity, messages in
                let ada = try await identity.verify("ada@example.com", in: messages)
                let eve = try await identity.verify("eve@example.com", in: messages)
                let code = try await identity.code(for: .verify, to: "ada@example.com", 2, in: messages)
                let taken = try await change(identity, eve.id, to: "ada@example.com", code: code)
                #expect(taken.status == 409 && taken.code == "IDENTIFIER_TAKEN")
                for (id, email) in [(ada.id, "ada@example.com"), (eve.id, "eve@example.com")] {
                    let me: User = try await identity.send(.GET, "/v1/auth/me", as: id).decode()
                    #expect(me.email == email && me.emailVerified)
                }
                #expect(messages.messages(to: "eve@example.com").count == 1, "what did not happen is not told")
            }
        }

        @Test func theFormerOneIsToldAndUndoesTheChange() async throws {
            let settings = ["IDENTITY_UNDO_LINK_URL": "https://shop.example.com/undo"]
            try await withMessages(settings) { identity, messages in
                let user = try await identity.verify("ada@example.com", in: messages)
                let set = try await identity.send(
                    .POST, "/v1/auth/password", as: user.id, body: ChangePasswordRequest(newPassword: "tulpenzwiebel"))
                #expect(set.status == 204)
                // Older than a thief's; Apple's and the number are not.
                try await identity.database.query(
                    "UPDATE identifiers SET changed_at = now() - interval '10 days' WHERE user_id = \(user.id)")
                let apple = try identity.apple.token(sub: "eve")
                let linked = try await identity.send(
                    .POST, "/v1/auth/identities/apple", as: user.id, body: LinkAppleRequest(identityToken: apple))
                #expect(linked.status == 200)
                let text = try await identity.code(for: .verify, to: "+491711234567", in: messages)
                let added = try await identity.send(
                    .PUT, "/v1/auth/identifiers/phone", as: user.id,
                    body: ChangeIdentifierRequest(identifier: "+491711234567", code: text))
                #expect(try added.decode(User.self).phoneVerified == true)
                let code = try await identity.code(for: .verify, to: "eve@example.com", in: messages)
                #expect(try await change(identity, user.id, to: "eve@example.com", code: code).status == 200)
                #expect(try await identity.login("eve@example.com").status == 200)

                // After the notices of the password and of Apple.
                let sent = { messages.messages(to: "ada@example.com") }
                try await eventually("the former one is told") { sent().contains { $0.contains("ghiu_") } }
                let notice = try #require(sent().first { $0.contains("ghiu_") })
                let token = String(try #require(notice.firstMatch(of: /ghiu_[A-Za-z0-9_-]+/)).0)
                #expect(notice.contains("https://shop.example.com/undo#\(token)") && notice.contains("3 days"))
                for wrong in ["", "ghiu_x", token + "A"] {
                    let refused = try await undo(identity, wrong)
                    #expect(try refused.problem().errors?.map(\.field) == ["token"], "\(refused.text)")
                }
                #expect(try await undo(identity, token).status == 204)
                #expect(try await undo(identity, token).code == "INVALID_REQUEST", "it serves once")

                let me: User = try await identity.send(.GET, "/v1/auth/me", as: user.id).decode()
                #expect(me.email == "ada@example.com" && me.emailVerified && me.phone == nil)
                #expect(me.authProviders.isEmpty)
                #expect(identity.tokens.live(user.id) == 0)
                #expect(try await identity.login("eve@example.com").code == "INVALID_CREDENTIALS")
                #expect(try await identity.verify("ada@example.com", 5, in: messages).id == user.id)
                #expect(try await events(identity, of: user.id).contains("identifier_restored"))
                #expect(try await identity.signIn("eve").user.id != user.id)
            }
        }

        /// A thief who changes it twice does not get rid of who had it first, and cannot undo the undoing.
        @Test func theOldestChangeUndoesTheLaterOnes() async throws {
            try await withMessages { identity, messages in
                let user = try await identity.verify("ada@example.com", in: messages)
                for email in ["eve@example.com", "eve@example.org"] {
                    let code = try await identity.code(for: .verify, to: email, in: messages)
                    #expect(try await change(identity, user.id, to: email, code: code).status == 200)
                }
                let first = try await token(2, to: "ada@example.com", in: messages)
                let second = try await token(2, to: "eve@example.com", in: messages)
                #expect(try await undo(identity, first).status == 204)
                #expect(try await undo(identity, second).code == "INVALID_REQUEST")
                let me: User = try await identity.send(.GET, "/v1/auth/me", as: user.id).decode()
                #expect(me.email == "ada@example.com")
            }
        }

        @Test func aTokenEndsWithItsTimeWithAnOperatorsWordAndWithTheAccount() async throws {
            try await withMessages { identity, messages in
                for ending in ["expiry", "operator", "deletion"] {
                    let email = "\(ending)@example.com"
                    let id = try await identity.verify(email, in: messages).id
                    let new = "new-\(ending)@example.com"
                    let code = try await identity.code(for: .verify, to: new, in: messages)
                    #expect(try await change(identity, id, to: new, code: code).status == 200)
                    let token = try await token(2, to: email, in: messages)
                    switch ending {
                    case "expiry":
                        try await identity.database.query(
                            "UPDATE identifier_changes SET expires_at = now() WHERE user_id = \(id)")
                    case "operator":
                        let stores = Stores(on: identity.database)
                        _ = try await stores.identifierChanges.set(
                            .email(EmailAddress("ops@example.com")), of: id, actor: .operator)
                    default:
                        #expect(try await identity.send(.DELETE, "/v1/auth/account", as: id).status == 202)
                    }
                    #expect(try await undo(identity, token).code == "INVALID_REQUEST", "\(ending)")
                }
            }
        }

        @Test func whatAnotherHasVerifiedSinceStaysWithThem() async throws {
            try await withMessages { identity, messages in
                let id = try await identity.verify("ada@example.com", in: messages).id
                let code = try await identity.code(for: .verify, to: "eve@example.com", in: messages)
                #expect(try await change(identity, id, to: "eve@example.com", code: code).status == 200)
                let token = try await token(2, to: "ada@example.com", in: messages)
                let other = try await identity.verify("ada@example.com", 3, in: messages)
                #expect(other.id != id)
                #expect(try await undo(identity, token).code == "IDENTIFIER_TAKEN")
                // Once it is free the token still counts.
                #expect(try await identity.send(.DELETE, "/v1/auth/account", as: other.id).status == 202)
                #expect(try await undo(identity, token).status == 204)
            }
        }

        @Test func oneIsRemovedUnlessItIsTheLastWayIn() async throws {
            try await withMessages { identity, messages in
                let id = try await identity.verify("ada@example.com", in: messages).id
                let last = try await identity.send(.DELETE, Self.path, as: id)
                #expect(last.status == 403 && last.code == "FORBIDDEN")
                let code = try await identity.code(for: .verify, to: "+491711234567", in: messages)
                let added = try await identity.send(
                    .PUT, "/v1/auth/identifiers/phone", as: id,
                    body: ChangeIdentifierRequest(identifier: "+49 171 1234567", code: code))
                #expect(added.status == 200)
                let old = try await identity.send(.DELETE, Self.path, as: id, age: 700)
                #expect(old.code == "REAUTHENTICATION_REQUIRED")
                let removed: User = try await identity.send(.DELETE, Self.path, as: id).decode()
                #expect(removed.email == nil && removed.phone == "+491711234567")
                #expect(try await identity.send(.DELETE, Self.path, as: id).status == 404)
                #expect(try await identity.send(.DELETE, "/v1/auth/identifiers/fax", as: id).status == 404)
                let token = try await token(2, to: "ada@example.com", in: messages)
                #expect(try await undo(identity, token).status == 204)
                let me: User = try await identity.send(.GET, "/v1/auth/me", as: id).decode()
                #expect(me.email == "ada@example.com" && me.phone == nil)
            }
        }

        @Test func aCodeReauthenticatesWhoIsSignedIn() async throws {
            try await withMessages { identity, messages in
                let email = "ada@example.com"
                let user = try await identity.verify(email, in: messages)
                let session = try #require(identity.tokens.state.withLock { $0.sessions.keys.first })
                let code = try await identity.code(for: .stepUp, to: email, 2, in: messages)
                let message = try await messages.message(2, to: email)
                #expect(message.contains("it is you"), "\(message)")
                let presented = VerifyCodeRequest(identifier: email, code: code)
                // It signs no user in, and authenticates no other user.
                #expect(try await identity.post("/v1/auth/code/verify", presented).status == 401)
                let stranger = try await identity.register("eve@example.com").user.id
                #expect(
                    try await identity.send(.POST, "/v1/auth/code/verify", as: stranger, body: presented).status == 401)
                let verified = try await identity.send(
                    .POST, "/v1/auth/code/verify", as: user.id, session: session, age: 86_400, body: presented)
                #expect(verified.status == 204, "\(verified.text)")
                let renewals = identity.tokens.state.withLock { $0.renewals }
                #expect(renewals.map(\.userID) == [user.id] && renewals.first?.methods == [.oneTimeCode])
                let again = try await identity.send(
                    .POST, "/v1/auth/code/verify", as: user.id, session: session, body: presented)
                #expect(again.status == 401)
            }
        }

        /// Who reads at an address that its user has not verified need not be the user.
        @Test func anUnverifiedAddressReauthenticatesNobody() async throws {
            try await withMessages { identity, messages in
                let user = try await identity.register("ada@example.com").user.id
                let code = try await identity.code(for: .stepUp, to: "ada@example.com", in: messages)
                let refused = try await identity.send(
                    .POST, "/v1/auth/code/verify", as: user,
                    body: VerifyCodeRequest(identifier: "ada@example.com", code: code))
                #expect(refused.status == 401)
            }
        }
    }
}
