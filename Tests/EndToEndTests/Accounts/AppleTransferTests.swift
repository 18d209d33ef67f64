import Foundation
import GatehouseServiceContracts
import Postgres
import TestKit
import Testing

/// The app changes teams at Apple (TN3159): its users keep their accounts.
@Suite(.gatehouse(), .serialized) struct AppleTransferTests {
    private let system = GatehouseSystem.current
    private var journey: Journey { system.journey }

    private static let recipient = "TEAM111111"
    /// That of the system's settings.
    private static let former = "TEAM000000"

    private struct Summary: Decodable, Equatable {
        var asked: Int
        var done: Int
        var unknownToApple: Int
        var taken: Int
    }

    /// The last line of what a command prints.
    private func summary(_ output: String) throws -> Summary {
        try JSON.decode(Summary.self, from: Data((output.split(separator: "\n").last ?? "").utf8))
    }

    private func prepare() async throws -> Summary {
        let words = ["apple", "transfer-prepare", "--to", Self.recipient]
        return try summary(try await system.process("identity").run(words))
    }

    /// - Parameter team: whose key the command has.
    private func finish(team: String = recipient) async throws -> Summary {
        var output = ""
        try await system.withReplica(of: "identity", settings: ["IDENTITY_APPLE_TEAM_ID": team]) { identity in
            output = try await identity.run(["apple", "transfer-finish"])
        }
        return try summary(output)
    }

    private func signIn(_ request: Journey.AppleSignIn) async throws -> (sub: String, session: AuthResponse) {
        let token = try await journey.appleToken(request)
        return (
            token.sub,
            try await journey.signInWithApple(
                AppleSignInRequest(
                    identityToken: token.identityToken, authorizationCode: token.authorizationCode))
        )
    }

    private func subject(of user: UUID) async throws -> String? {
        try await system.withDatabase(of: "identity") { database in
            try await database.query(
                "SELECT subject FROM apple_identities JOIN credentials ON id = credential_id WHERE user_id = \(user)"
            )
            .first?.decode(String.self)
        }
    }

    @Test func usersKeepTheirAccounts() async throws {
        let relay = "\(UUID().uuidString.lowercased())@privaterelay.appleid.com"
        let (adaSub, ada) = try await signIn(.init(email: relay, emailVerified: true, isPrivateEmail: true))
        let (bobSub, bob) = try await signIn(.init(email: Journey.uniqueEmail(), emailVerified: true))
        let hidden = "\(UUID().uuidString.lowercased())@privaterelay.appleid.com"
        let (cleoSub, cleo) = try await signIn(.init(email: hidden, emailVerified: true, isPrivateEmail: true))
        let (danSub, dan) = try await signIn(.init())
        // Apple does not know this one any more.
        let gone = try await signIn(.init()).session
        try await system.withDatabase(of: "identity") { database in
            try await database.query(
                "UPDATE credentials SET subject = '000000.gone.0000' WHERE kind = 'apple' AND user_id = \(gone.user.id)"
            )
        }

        #expect(try await prepare() == Summary(asked: 5, done: 4, unknownToApple: 1, taken: 0))
        #expect(try await prepare() == Summary(asked: 1, done: 0, unknownToApple: 1, taken: 0))
        // Until the transfer nothing has changed.
        #expect(try await signIn(.init(sub: adaSub)).session.user.id == ada.user.id)
        #expect(try await finish(team: "TEAM222222") == Summary(asked: 0, done: 0, unknownToApple: 0, taken: 0))

        // Ada signs in after the transfer: the token has both names, and her address at the new team.
        let moved = try await signIn(
            .init(sub: adaSub, email: relay, isPrivateEmail: true, transferredTo: Self.recipient))
        #expect(moved.session.user.id == ada.user.id)
        #expect(moved.session.user.email?.hasSuffix("@privaterelay.appleid.com") == true)
        #expect(moved.session.user.email != relay)
        #expect(moved.sub != adaSub)
        #expect(try await subject(of: ada.user.id) == moved.sub)
        #expect(try await signIn(.init(sub: moved.sub)).session.user.id == ada.user.id)

        // Dan's new name has become another account, as if the sixty days had been over.
        let names = try await journey.appleToken(.init(sub: danSub, transferredTo: Self.recipient))
        let double = try await signIn(.init(sub: names.sub)).session
        #expect(double.user.id != dan.user.id)

        // The others come with the command.
        #expect(try await finish() == Summary(asked: 3, done: 2, unknownToApple: 0, taken: 1))
        #expect(try await finish() == Summary(asked: 1, done: 0, unknownToApple: 0, taken: 1))
        let bobAgain = try await signIn(.init(sub: bobSub, transferredTo: Self.recipient))
        #expect(bobAgain.session.user.id == bob.user.id)
        #expect(bobAgain.session.user.email == bob.user.email)
        let me = try await journey.me(cleo.accessToken).decode(User.self)
        #expect(me.email?.hasSuffix("@privaterelay.appleid.com") == true && me.email != hidden && me.emailVerified)
        let cleoAgain = try await signIn(.init(sub: cleoSub, transferredTo: Self.recipient))
        #expect(cleoAgain.session.user.id == cleo.user.id)

        // Every session goes on, and both of Dan's accounts exist.
        for session in [bob, cleo, dan, double] {
            #expect(try await journey.refresh(session.refreshToken).status == 200)
        }
    }

    @Test func invalidArgumentsAreNamed() async throws {
        for (words, complaint) in [
            (["--to", "TEAM"], "no team id"), (["--to", Self.former], "whose users are there"), ([], "--to"),
        ] {
            let error = await #expect(throws: TestKitError.self) {
                try await system.process("identity").run(["apple", "transfer-prepare"] + words)
            }
            #expect("\(error as Any)".contains(complaint), "\(error as Any)")
        }
    }
}
