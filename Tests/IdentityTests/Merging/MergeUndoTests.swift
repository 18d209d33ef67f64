import Foundation
import GatehouseServiceContracts
import NIOHTTP1
import Postgres
import TestKit
import Testing

@testable import IdentityService

extension AppleServiceTests {
    /// A thief who is signed in to a victim's account merges an account of their own with it, however old. The victim
    /// undoes that by what is sent to their address.
    @Suite struct MergeUndoTests {
        private static let victim = "ada@example.com"
        private static let thief = "+491711234567"

        private func send(
            _ identity: Harness, _ method: HTTPMethod, _ path: String, as user: UUID, body: some Encodable
        ) async throws -> User {
            let answer = try await identity.send(method, path, as: user, body: body)
            try #require(answer.status == 200, "\(answer.text)")
            return try answer.decode()
        }

        private func linkApple(_ sub: String, to user: UUID, _ identity: Harness) async throws {
            let token = try identity.apple.token(sub: sub)
            _ = try await send(
                identity, .POST, "/v1/auth/identities/apple", as: user, body: LinkAppleRequest(identityToken: token))
        }

        private func set(
            _ kind: String, to identifier: String, of user: UUID, _ identity: Harness, _ messages: MessageFiles
        ) async throws {
            let number = messages.messages(to: identifier).count + 1
            let code = try await identity.code(for: .verify, to: identifier, number, in: messages)
            _ = try await send(
                identity, .PUT, "/v1/auth/identifiers/\(kind)", as: user,
                body: ChangeIdentifierRequest(identifier: identifier, code: code))
        }

        /// Everything that there is becomes ten days old, and one account a day older than that.
        private func age(older: UUID, _ identity: Harness) async throws {
            let database = identity.database
            try await database.query("UPDATE identifiers SET changed_at = changed_at - interval '10 days'")
            try await database.query("UPDATE credentials SET created_at = created_at - interval '10 days'")
            try await database.query("UPDATE users SET created_at = created_at - interval '10 days'")
            try await database.query("UPDATE users SET created_at = created_at - interval '1 day' WHERE id = \(older)")
        }

        /// The thief authenticates for the own account by Apple.
        private func merge(
            _ identity: Harness, into victim: UUID, apple sub: String = "eve"
        ) async throws -> User {
            let request = MergeRequest(identityToken: try identity.apple.token(sub: sub))
            let answer = try await identity.send(.POST, "/v1/auth/merge", as: victim, body: request)
            try #require(answer.status == 200, "\(answer.text)")
            return try answer.decode(MergeResponse.self).user
        }

        /// The token in the message to an identifier that says `text`.
        private func token(in text: String, to identifier: String, _ messages: MessageFiles) async throws -> String {
            func found() -> String? { messages.messages(to: identifier).last { $0.contains(text) } }
            try await eventually("\(identifier) is told: \(text)") { found() != nil }
            let message = try #require(found())
            return String(try #require(message.firstMatch(of: /ghiu_[A-Za-z0-9_-]+/), "\(message)").0)
        }

        private func undo(_ identity: Harness, _ token: String) async throws -> TestHTTPClient.Response {
            try await identity.post("/v1/auth/identifiers/undo", UndoIdentifierChangeRequest(token: token))
        }

        private func signInByCode(
            _ identifier: String, _ identity: Harness, _ messages: MessageFiles
        ) async throws -> TestHTTPClient.Response {
            let number = messages.messages(to: identifier).count + 1
            let code = try await identity.code(for: .signIn, to: identifier, number, in: messages)
            return try await identity.post(
                "/v1/auth/code/verify", VerifyCodeRequest(identifier: identifier, code: code))
        }

        private func me(_ user: UUID, _ identity: Harness) async throws -> User {
            try await identity.send(.GET, "/v1/auth/me", as: user).decode()
        }

        @Test(arguments: [true, false])
        func mergeThenChangeThenUndo(thiefIsOlder: Bool) async throws {
            try await withMessages { identity, messages in
                let victim = try await identity.verify(Self.victim, in: messages).id
                let thief = try await identity.verify(Self.thief, in: messages).id
                try await linkApple("eve", to: thief, identity)
                try await age(older: thiefIsOlder ? thief : victim, identity)
                let account = try await merge(identity, into: victim)
                #expect(account.id == (thiefIsOlder ? thief : victim))
                try await set("email", to: "eve@example.com", of: account.id, identity, messages)

                let token = try await token(in: "was replaced or removed", to: Self.victim, messages)
                #expect(try await undo(identity, token).status == 204)
                let user = try await me(account.id, identity)
                #expect(user.email == Self.victim && user.emailVerified && user.phone == nil)
                #expect(user.authProviders.isEmpty, "\(user.authProviders)")
                let owner = try await signInByCode(Self.victim, identity, messages).decode(AuthResponse.self).user
                #expect(owner.id == account.id)
                #expect(try await identity.signIn("eve").user.id != account.id)
                let caller = try await signInByCode(Self.thief, identity, messages).decode(AuthResponse.self).user
                #expect(caller.id != account.id)
            }
        }

        /// The undo takes nothing that was the victim's own.
        @Test(arguments: [true, false])
        func whatWasOnesOwnStays(thiefIsOlder: Bool) async throws {
            try await withMessages { identity, messages in
                let victim = try await identity.verify(Self.victim, in: messages).id
                try await set("phone", to: "+491729999999", of: victim, identity, messages)
                let thief = try await identity.signIn("eve").user.id
                try await age(older: thiefIsOlder ? thief : victim, identity)
                let account = try await merge(identity, into: victim)
                #expect(account.phone == "+491729999999" && account.authProviders == [.apple])
                let token = try await token(in: "was joined with another account", to: Self.victim, messages)
                #expect(try await undo(identity, token).status == 204)
                let user = try await me(account.id, identity)
                #expect(user.email == Self.victim && user.phone == "+491729999999" && user.authProviders.isEmpty)
                #expect(try await identity.signIn("eve").user.id != account.id)
            }
        }

        /// An identifier that the merge drops gets the link too. The other side's link disables the account then: which
        /// of the two is the thief's cannot be known.
        @Test(arguments: [true, false])
        func bothSidesUndo(thiefIsOlder: Bool) async throws {
            try await withMessages { identity, messages in
                let victim = try await identity.verify(Self.victim, in: messages).id
                let thief = try await identity.verify("eve@example.com", in: messages).id
                try await linkApple("eve", to: thief, identity)
                try await age(older: thiefIsOlder ? thief : victim, identity)
                let account = try await merge(identity, into: victim)
                #expect(account.email == (thiefIsOlder ? "eve@example.com" : Self.victim))
                let (kept, dropped) = ("was joined with another account", "was replaced or removed")
                let own = try await token(in: thiefIsOlder ? dropped : kept, to: Self.victim, messages)
                let thiefs = try await token(in: thiefIsOlder ? kept : dropped, to: "eve@example.com", messages)
                #expect(try await undo(identity, own).status == 204)
                let user = try await me(account.id, identity)
                #expect(user.email == Self.victim && user.authProviders.isEmpty)

                let second = try await undo(identity, thiefs)
                #expect(second.status == 403 && second.code == "ACCOUNT_DISABLED", "\(second.text)")
                #expect(identity.tokens.live(account.id) == 0)
                #expect(try await signInByCode(Self.victim, identity, messages).code == "ACCOUNT_DISABLED")
                #expect(try await signInByCode("eve@example.com", identity, messages).status == 200, "another account")
                #expect(try await undo(identity, thiefs).code == "INVALID_REQUEST")
                let details = try await identity.database.query(
                    "SELECT detail FROM audit_entries WHERE user_id = \(account.id) AND event = 'disabled'"
                ).decode(String?.self)
                #expect(details == ["contested"])
            }
        }

        /// The thief adds a number, changes it, and has a token for the first one. The undo ends that token.
        @Test func noTokenOfTheThiefsUndoesTheUndo() async throws {
            try await withMessages { identity, messages in
                let victim = try await identity.verify(Self.victim, in: messages).id
                try await age(older: victim, identity)
                try await set("phone", to: Self.thief, of: victim, identity, messages)
                try await set("email", to: "eve@example.com", of: victim, identity, messages)
                try await set("phone", to: "+491729999999", of: victim, identity, messages)
                let own = try await token(in: "was replaced or removed", to: Self.victim, messages)
                let thiefs = try await token(in: "was taken out", to: Self.thief, messages)
                #expect(try await undo(identity, own).status == 204)
                #expect(try await undo(identity, thiefs).code == "INVALID_REQUEST")
                #expect(try await me(victim, identity).email == Self.victim)
            }
        }

        /// The victim has registered a moment ago. The thief's number is younger, whatever the thief does with it.
        @Test(arguments: [true, false])
        func aYoungAccountIsNotTheThiefs(thiefIsFirst: Bool) async throws {
            try await withMessages { identity, messages in
                let victim = try await identity.verify(Self.victim, in: messages).id
                try await set("phone", to: Self.thief, of: victim, identity, messages)
                try await set("phone", to: "+491729999999", of: victim, identity, messages)
                try await set("email", to: "eve@example.com", of: victim, identity, messages)
                let own = try await token(in: "was replaced or removed", to: Self.victim, messages)
                let thiefs = try await token(in: "was taken out", to: Self.thief, messages)
                if thiefIsFirst {
                    #expect(try await undo(identity, thiefs).status == 204)
                    let locked = try await undo(identity, own)
                    #expect(locked.status == 403 && locked.code == "ACCOUNT_DISABLED", "\(locked.text)")
                    #expect(try await signInByCode(Self.thief, identity, messages).code == "ACCOUNT_DISABLED")
                } else {
                    #expect(try await undo(identity, own).status == 204)
                    #expect(try await undo(identity, thiefs).code == "INVALID_REQUEST")
                    let user = try await me(victim, identity)
                    #expect(user.email == Self.victim && user.emailVerified && user.phone == nil)
                }
            }
        }

        /// The thief leaves the victim's address, so that the victim has no link.
        @Test func aThiefsUndoLeavesTheVictimsOlderAddress() async throws {
            try await withMessages { identity, messages in
                let victim = try await identity.verify(Self.victim, in: messages).id
                try await set("phone", to: Self.thief, of: victim, identity, messages)
                try await set("phone", to: "+491729999999", of: victim, identity, messages)
                let thiefs = try await token(in: "was taken out", to: Self.thief, messages)
                #expect(try await undo(identity, thiefs).status == 204)
                let user = try await me(victim, identity)
                #expect(user.email == Self.victim && user.emailVerified)
            }
        }

        /// The older account has rights, and has lost its address to the younger one. Each side's link keeps its own.
        @Test(arguments: [true, false])
        func rightsStayWithTheirSide(ownerUndoes: Bool) async throws {
            try await withMessages { identity, messages in
                let owner = try await identity.register(Self.victim).user.id
                try await set("phone", to: "+491729999999", of: owner, identity, messages)
                try await identity.database.query(
                    "UPDATE users SET role = 'courier', store_ids = '{berlin}' WHERE id = \(owner)")
                let other = try await identity.verify(Self.victim, in: messages).id
                let request = MergeRequest(password: "tulpenzwiebel")
                let merged = try await identity.send(.POST, "/v1/auth/merge", as: other, body: request)
                try #require(merged.status == 200, "\(merged.text)")
                let link = try await token(
                    in: "was joined with another", to: ownerUndoes ? "+491729999999" : Self.victim, messages)
                #expect(try await undo(identity, link).status == 204)
                let user = try await me(owner, identity)
                if ownerUndoes {
                    #expect(user.role == "courier" && user.storeIds == ["berlin"])
                    #expect(user.phone == "+491729999999" && user.email == nil)
                } else {
                    #expect(user.role == "user" && user.storeIds.isEmpty)
                    #expect(user.phone == nil && user.email == Self.victim)
                }
            }
        }

        /// Three accounts of one person are merged one after the other, unlike one whose identifier was changed.
        @Test func aMergeDoesNotKeepFromTheNext() async throws {
            try await withMessages { identity, messages in
                let first = try await identity.verify(Self.victim, in: messages).id
                _ = try await identity.verify(Self.thief, in: messages)
                _ = try await identity.signIn("bea")
                let code = try await identity.code(for: .merge, to: Self.thief, 2, in: messages)
                let joined = try await identity.send(
                    .POST, "/v1/auth/merge", as: first, body: MergeRequest(code: code, identifier: Self.thief))
                #expect(joined.status == 200, "\(joined.text)")
                let account = try await merge(identity, into: first, apple: "bea")
                #expect(account.phone == Self.thief && account.authProviders == [.apple])
            }
        }

        @Test func aMergeAnAppleLinkAndAPasswordAreToldToVerifiedIdentifiersAlone() async throws {
            try await withMessages { identity, messages in
                let user = try await identity.verify(Self.victim, in: messages).id
                let unverified = try await identity.register("bea@example.com").user.id
                func isTold(_ text: String) async throws {
                    try await eventually("\(text) is told") {
                        messages.messages(to: Self.victim).contains { $0.contains(text) }
                    }
                }
                try await linkApple("ada", to: user, identity)
                try await isTold("An Apple account was added")
                let set = try await identity.send(
                    .POST, "/v1/auth/password", as: user, body: ChangePasswordRequest(newPassword: "tulpenzwiebel"))
                #expect(set.status == 204)
                try await isTold("was set or changed")
                let request = MergeRequest(password: "tulpenzwiebel", identifier: "bea@example.com")
                let merged = try await identity.send(.POST, "/v1/auth/merge", as: user, body: request)
                #expect(merged.status == 200, "\(merged.text)")
                try await isTold("was joined with another account")
                try await eventually("all is sent") { try await identity.outboxCount == 0 }
                #expect(messages.messages(to: "bea@example.com").isEmpty, "\(unverified)")
            }
        }
    }
}
