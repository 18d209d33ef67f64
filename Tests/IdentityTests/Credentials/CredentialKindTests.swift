import Foundation
import GatehouseServiceContracts
import NIOHTTP1
import Postgres
import Synchronization
import TestKit
import Testing

@testable import IdentityCore
@testable import IdentityCredentials
@testable import IdentityService

/// A person with one identifier and one account at Apple.
private struct Person: Sendable {
    let number: Int
    var email: String { "person\(number)@example.com" }
    var phone: String { "+4917112345\(60 + number)" }
    var subject: String { "subject-\(number)" }
    static let password = "tulpenzwiebel"
}

/// A service, and what its users find in their mail.
private struct Scene: Sendable {
    let identity: Harness
    let messages: MessageFiles

    /// Requests a code and reads it. Notices to the same identifier may come at any time.
    func code(for purpose: CodePurpose, to identifier: String) async throws -> String {
        func codes() -> [String] {
            messages.messages(to: identifier).compactMap { message in
                message.dropFirst("To: \(identifier)".count).firstMatch(of: /\b[0-9]{6}\b/).map { String($0.0) }
            }
        }
        let count = codes().count
        let request = CodeRequest(identifier: identifier, purpose: purpose)
        // From an address of its own, so that no limit applies.
        let answer = try await identity.post("/v1/auth/code", request, from: UUID().uuidString)
        try #require(answer.status == 202, "\(answer.text)")
        try await eventually("a code comes") { codes().count > count }
        return codes()[count]
    }

    func appleToken(_ person: Person) throws -> String { try identity.apple.token(sub: person.subject) }

    /// Whether the answer to a sign-in opens this account.
    func opens(_ user: UUID, _ answer: TestHTTPClient.Response) -> Bool {
        (200...201).contains(answer.status) && (try? answer.decode(AuthResponse.self).user.id) == user
    }

    func removed(_ path: String, of user: UUID) async throws -> TestHTTPClient.Response {
        try await identity.send(.DELETE, "/v1/auth/\(path)", as: user)
    }

    /// A request of the user in a session of theirs.
    func send(_ path: String, as user: UUID, _ body: some Encodable) async throws -> TestHTTPClient.Response {
        let session = identity.tokens.state.withLock { state in
            state.sessions.first { $0.value.snapshot.user.id == user }?.key
        }
        return try await identity.send(.POST, path, as: user, session: try #require(session), body: body)
    }

    func verify(_ code: String, of identifier: String) async throws -> TestHTTPClient.Response {
        try await identity.post("/v1/auth/code/verify", VerifyCodeRequest(identifier: identifier, code: code))
    }
}

/// What a kind of credential answers to everything that an account goes through. A kind that is added answers it too.
private struct Kind: Sendable, CustomTestStringConvertible {
    let testDescription: String
    /// Whether it shows that its user is the person whom it names: such an account is not abandoned.
    let provesPerson: Bool
    /// Whether another person's message cannot reset the password of an account with an unverified identifier and this.
    let closesReset: Bool
    /// Makes an account without another credential.
    let open: @Sendable (Person, Scene) async throws -> UUID
    let signIn: @Sendable (Person, Scene) async throws -> TestHTTPClient.Response
    /// Verifies the signed-in user again.
    let reauthenticate: @Sendable (Person, UUID, Scene) async throws -> TestHTTPClient.Response
    /// Adds the person's credential to an account.
    let link: @Sendable (Person, UUID, Scene) async throws -> TestHTTPClient.Response
    let unlink: @Sendable (UUID, Scene) async throws -> TestHTTPClient.Response
    /// Verifies the person's account in a request to merge.
    let merge: @Sendable (Person, Scene) async throws -> MergeRequest
    /// Members of a line of an import.
    let imported: @Sendable (Person) -> String
    let isExported: @Sendable (AccountExport, Person) -> Bool

    /// What the service lists. A kind without an answer fails.
    static let all = IdentityApplication.credentialFeatures.compactMap { answers[$0.id] }
    private static let answers: [CredentialKindID: Kind] = [.password: password, .apple: apple, .code: code]

    /// It needs an identifier, which is not verified.
    static let password = Kind(
        testDescription: "password", provesPerson: false, closesReset: false,
        open: { person, scene in try await scene.identity.register(person.email).user.id },
        signIn: { person, scene in try await scene.identity.login(person.email) },
        reauthenticate: { _, user, scene in
            try await scene.send("/v1/auth/reauthenticate", as: user, ReauthenticateRequest(password: Person.password))
        },
        link: { person, user, scene in
            // The password is for the person's address.
            let me: User = try await scene.identity.send(.GET, "/v1/auth/me", as: user).decode()
            if me.email == nil {
                let code = try await scene.code(for: .verify, to: person.email)
                let added = try await scene.identity.send(
                    .PUT, "/v1/auth/identifiers/email", as: user,
                    body: ChangeIdentifierRequest(identifier: person.email, code: code))
                guard added.status == 200 else { return added }
            }
            return try await scene.identity.send(
                .POST, "/v1/auth/password", as: user, body: ChangePasswordRequest(newPassword: Person.password))
        },
        unlink: { user, scene in try await scene.removed("identities/password", of: user) },
        merge: { person, _ in MergeRequest(password: Person.password, identifier: person.email) },
        imported: { person in
            #""email":"\#(person.email)","passwordHash":"$2b$04$abcdefghijklmnopqrstuulZBP4NR61qHdonaZa2.6C7Vnm.1NAX.""#
        },
        isExported: { export, _ in export.passwordChangedAt != nil && export.user.authProviders.contains(.password) })

    static let apple = Kind(
        testDescription: "Apple", provesPerson: true, closesReset: true,
        open: { person, scene in try await scene.identity.signIn(person.subject).user.id },
        signIn: { person, scene in try await scene.identity.apple(scene.appleToken(person)) },
        reauthenticate: { person, user, scene in
            try await scene.send(
                "/v1/auth/reauthenticate", as: user, ReauthenticateRequest(identityToken: scene.appleToken(person)))
        },
        link: { person, user, scene in
            try await scene.identity.send(
                .POST, "/v1/auth/identities/apple", as: user,
                body: LinkAppleRequest(identityToken: scene.appleToken(person)))
        },
        unlink: { user, scene in try await scene.removed("identities/apple", of: user) },
        merge: { person, scene in MergeRequest(identityToken: try scene.appleToken(person)) },
        imported: { person in #""apple":{"subject":"\#(person.subject)","clientId":"com.example.app"}"# },
        isExported: { export, person in
            export.apple?.subject == person.subject && export.user.authProviders.contains(.apple)
        })

    /// A verified number.
    static let code = Kind(
        testDescription: "code", provesPerson: true, closesReset: true,
        open: { person, scene in
            let answer = try await scene.verify(scene.code(for: .signIn, to: person.phone), of: person.phone)
            return try answer.decode(AuthResponse.self).user.id
        },
        signIn: { person, scene in
            try await scene.verify(scene.code(for: .signIn, to: person.phone), of: person.phone)
        },
        reauthenticate: { person, user, scene in
            let code = try await scene.code(for: .stepUp, to: person.phone)
            return try await scene.send(
                "/v1/auth/code/verify", as: user, VerifyCodeRequest(identifier: person.phone, code: code))
        },
        link: { person, user, scene in
            let code = try await scene.code(for: .verify, to: person.phone)
            return try await scene.identity.send(
                .PUT, "/v1/auth/identifiers/phone", as: user,
                body: ChangeIdentifierRequest(identifier: person.phone, code: code))
        },
        unlink: { user, scene in try await scene.removed("identifiers/phone", of: user) },
        merge: { person, scene in
            MergeRequest(code: try await scene.code(for: .merge, to: person.phone), identifier: person.phone)
        },
        imported: { person in #""phone":"\#(person.phone)","phoneVerified":true"# },
        isExported: { export, person in export.user.phone == person.phone && export.phoneVerified == true })
}

/// Two kinds that differ.
private struct Pair: Sendable, CustomTestStringConvertible {
    let one: Kind
    let other: Kind
    var testDescription: String { "\(one.testDescription), \(other.testDescription)" }

    static let all = Kind.all.flatMap { one in
        Kind.all.filter { $0.testDescription != one.testDescription }.map { Pair(one: one, other: $0) }
    }
}

extension AccountServiceTests {
    /// Every kind of credential in everything that an account goes through.
    @Suite struct CredentialKindTests {
        private let ada = Person(number: 1)
        private let eve = Person(number: 2)

        private func withScene(_ body: @escaping @Sendable (Scene) async throws -> Void) async throws {
            try await withMessages { identity, messages in
                try await body(Scene(identity: identity, messages: messages))
            }
        }

        @Test("Every kind of the service has its answers") func answers() {
            #expect(Kind.all.count == IdentityApplication.credentialFeatures.count)
        }

        @Test("Sign-in: each one opens the same account", arguments: Kind.all)
        private func signIn(_ kind: Kind) async throws {
            try await withScene { scene in
                let user = try await kind.open(ada, scene)
                for _ in 0..<2 { #expect(scene.opens(user, try await kind.signIn(ada, scene))) }
                #expect(!scene.opens(user, try await kind.signIn(eve, scene)))
            }
        }

        @Test("Recent authentication: the user's own credential alone", arguments: Kind.all)
        private func reauthentication(_ kind: Kind) async throws {
            try await withScene { scene in
                let user = try await kind.open(ada, scene)
                let own = try await kind.reauthenticate(ada, user, scene)
                #expect((200...204).contains(own.status), "\(own.text)")
                let stranger = try await Kind.apple.open(Person(number: 3), scene)
                let foreign = try await kind.reauthenticate(ada, stranger, scene)
                #expect([400, 401, 403].contains(foreign.status), "\(foreign.text)")
            }
        }

        @Test("Linked, it opens the account; unlinked, no more", arguments: Pair.all)
        private func linking(_ pair: Pair) async throws {
            try await withScene { scene in
                let user = try await pair.one.open(ada, scene)
                let linked = try await pair.other.link(ada, user, scene)
                #expect((200...204).contains(linked.status), "\(linked.text)")
                #expect(scene.opens(user, try await pair.other.signIn(ada, scene)))
                #expect(scene.opens(user, try await pair.one.signIn(ada, scene)))
                let unlinked = try await pair.other.unlink(user, scene)
                #expect(unlinked.status == 200, "\(unlinked.text)")
                #expect(!scene.opens(user, try await pair.other.signIn(ada, scene)))
                #expect(scene.opens(user, try await pair.one.signIn(ada, scene)))
            }
        }

        @Test("The last one is not unlinked", arguments: Kind.all)
        private func lastOne(_ kind: Kind) async throws {
            try await withScene { scene in
                let user = try await kind.open(ada, scene)
                #expect(try await kind.unlink(user, scene).code == "FORBIDDEN")
                #expect(scene.opens(user, try await kind.signIn(ada, scene)))
            }
        }

        @Test("Merged from either account, both open the older one", arguments: Pair.all, [true, false])
        private func merging(_ pair: Pair, isByOlder: Bool) async throws {
            try await withScene { scene in
                let older = try await pair.one.open(ada, scene)
                let newer = try await pair.other.open(eve, scene)
                let request = try await isByOlder ? pair.other.merge(eve, scene) : pair.one.merge(ada, scene)
                let answer = try await scene.identity.send(
                    .POST, "/v1/auth/merge", as: isByOlder ? older : newer, body: request)
                #expect(answer.status == 200, "\(answer.text)")
                #expect(try (answer.decode(MergeResponse.self).session != nil) == !isByOlder)
                #expect(scene.opens(older, try await pair.one.signIn(ada, scene)))
                #expect(scene.opens(older, try await pair.other.signIn(eve, scene)))
                try await eventually("nothing is left of the other") {
                    try await scene.identity.tables(of: newer).isEmpty
                }
            }
        }

        /// The owner's address is old. A thief adds a credential and takes the address away.
        @Test("An undone change removes what the thief has added", arguments: Kind.all)
        private func undoing(_ kind: Kind) async throws {
            try await withScene { scene in
                let owner = try await scene.identity.verify(ada.email, in: scene.messages).id
                for table in ["users SET created_at", "identifiers SET changed_at"] {
                    let column = table.split(separator: " ")[2]
                    try await scene.identity.database.query(
                        "UPDATE \(unescaped: table) = \(unescaped: String(column)) - interval '10 days'")
                }
                let linked = try await kind.link(eve, owner, scene)
                #expect((200...204).contains(linked.status), "\(linked.text)")
                let code = try await scene.code(for: .verify, to: "thief@example.com")
                let taken = try await scene.identity.send(
                    .PUT, "/v1/auth/identifiers/email", as: owner,
                    body: ChangeIdentifierRequest(identifier: "thief@example.com", code: code))
                #expect(taken.status == 200, "\(taken.text)")
                let token = try await undoToken(in: scene)
                let undone = try await scene.identity.post(
                    "/v1/auth/identifiers/undo", UndoIdentifierChangeRequest(token: token))
                #expect(undone.status == 204, "\(undone.text)")
                #expect(!scene.opens(owner, try await kind.signIn(eve, scene)))
                #expect(!scene.opens(owner, try await scene.identity.login(ada.email)))
                let code2 = try await scene.code(for: .signIn, to: ada.email)
                #expect(scene.opens(owner, try await scene.verify(code2, of: ada.email)))
            }
        }

        private func undoToken(in scene: Scene) async throws -> String {
            func found() -> String? {
                scene.messages.messages(to: ada.email).lazy
                    .compactMap { $0.firstMatch(of: /ghiu_[A-Za-z0-9_-]+/).map { String($0.0) } }.first
            }
            try await eventually("the owner is told") { found() != nil }
            return try #require(found())
        }

        /// An attacker registers another user's address and adds a credential of their own.
        @Test("A reset opens no account that the attacker would share", arguments: Kind.all)
        private func reset(_ kind: Kind) async throws {
            try await withScene { scene in
                let attacker = try await Kind.password.open(ada, scene)
                if kind.closesReset {
                    let linked = try await kind.link(eve, attacker, scene)
                    #expect((200...204).contains(linked.status), "\(linked.text)")
                }
                let asked = try await scene.identity.post(
                    "/v1/auth/password/forgot", ForgotPasswordRequest(identifier: ada.email))
                #expect(asked.status == 202)
                try await eventually("the outbox is empty") { try await scene.identity.outboxCount == 0 }
                let resets = try await scene.identity.database.query(
                    "SELECT count(*) FROM password_resets WHERE user_id = \(attacker)")[0].decode(Int.self)
                #expect(resets == (kind.closesReset ? 0 : 1))
            }
        }

        @Test("An account that proves nobody is abandoned", arguments: Kind.all)
        private func abandonment(_ kind: Kind) async throws {
            try await withScene { scene in
                let user = try await kind.open(ada, scene)
                let database = scene.identity.database
                let removal = UnverifiedAccountRemoval(
                    deletions: Stores(on: database).deletions, days: 0, isSignedIn: { _ in false })
                try await removal.run()
                let isLeft = try await database.query("SELECT count(*) FROM users WHERE id = \(user)")[0]
                #expect(try isLeft.decode(Int.self) == (kind.provesPerson ? 1 : 0))
            }
        }

        @Test("The export shows it", arguments: Kind.all)
        private func exporting(_ kind: Kind) async throws {
            try await withScene { scene in
                let user = try await kind.open(ada, scene)
                let export: AccountExport = try await scene.identity.send(.GET, "/v1/auth/export", as: user).decode()
                #expect(kind.isExported(export, ada))
                #expect(!kind.isExported(export, eve) || kind.testDescription == "password")
            }
        }

        @Test("Imported, it opens the account", arguments: Kind.all)
        private func importing(_ kind: Kind) async throws {
            try await withScene { scene in
                let user = UUID()
                let files = try TemporaryFiles()
                defer { files.remove() }
                let line = #"{"id":"\#(user.uuidString.lowercased())",\#(kind.imported(ada))}"#
                let file = try #require(FileHandle(forReadingAtPath: try files.write(line)))
                let database = scene.identity.database
                let transfer = UserTransfer(
                    store: UserTransferStore(database: database, registry: Stores(on: database).registry), home: nil)
                let flaws = Mutex<[UserTransfer.Flaw]>([])
                let summary = try await transfer.importUsers(from: file, first: 1, isDry: false) { flaw in
                    flaws.withLock { $0.append(flaw) }
                } progress: { _, _ in
                }
                #expect(summary.created == 1 && flaws.withLock(\.isEmpty))
                #expect(scene.opens(user, try await kind.signIn(ada, scene)))
            }
        }

        @Test("Deleted, nothing is left of it", arguments: Kind.all)
        private func erasure(_ kind: Kind) async throws {
            try await withScene { scene in
                let user = try await kind.open(ada, scene)
                #expect(try await !scene.identity.tables(of: user).isEmpty)
                let deleted = try await scene.identity.send(.DELETE, "/v1/auth/account", as: user)
                #expect(deleted.status == 202, "\(deleted.text)")
                try await eventually("nothing is left") { try await scene.identity.tables(of: user).isEmpty }
                #expect(!scene.opens(user, try await kind.signIn(ada, scene)))
            }
        }
    }
}
