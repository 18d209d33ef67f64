import Foundation
import GatehouseServiceContracts
import Postgres
import TestKit
import Testing

extension SystemTests {
    /// Which account gets an identifier: the table "Which account a claimant gets" of docs/reference/identity.md, row
    /// by row, through the gateway.
    @Suite struct AddressTable {
        private let system = GatehouseSystem.current
        private var journey: Journey { system.journey }
        private var messages: MessageFiles { system.messages }

        /// The user who has the address before the claimant claims it.
        enum Holder: CaseIterable, Sendable {
            case nobody, claimant, anotherVerified, anotherWithPassword, anotherWithMore
        }

        /// The account that the claimant gets, and whether the address is verified there afterwards.
        enum Outcome: Equatable, Sendable {
            case holders(verified: Bool)
            /// Another one, which has the address.
            case new(verified: Bool)
            /// Another one, without the address.
            case without
            /// No account: it is refused, or nothing is sent.
            case none
        }

        private struct Situation {
            var email = Journey.uniqueEmail()
            var sub = "sub-\(UUID())"
            var holder: AuthResponse?
        }

        private func apple(_ sub: String, _ email: String?) async throws -> AuthResponse {
            let token = try await journey.appleToken(
                .init(sub: sub, email: email, emailVerified: email.map { _ in true }))
            return try await journey.signInWithApple(AppleSignInRequest(identityToken: token.identityToken))
        }

        private func code(_ email: String) async throws -> AuthResponse {
            let number = messages.messages(to: email).count + 1
            let asked = try await journey.api.call(
                "POST", "/v1/auth/code", json: CodeRequest(identifier: email, purpose: .signIn))
            try #require(asked.status == 202, "\(asked.text)")
            let code = try await messages.code(number, to: email)
            // Another code for the same address has to wait half a minute.
            let id = UUID(uuidString: try asked.decode(CodeResponse.self).codeRequest)
            _ = try await system.withDatabase(of: "identity") { database in
                try await database.query(
                    "UPDATE codes SET created_at = created_at - interval '1 hour' WHERE id = \(id)")
            }
            return try await journey.api.call(
                "POST", "/v1/auth/code/verify", json: VerifyCodeRequest(identifier: email, code: code)
            ).decode(AuthResponse.self)
        }

        private func make(_ holder: Holder) async throws -> Situation {
            var situation = Situation()
            switch holder {
            case .nobody: break
            case .claimant: situation.holder = try await apple(situation.sub, situation.email)
            case .anotherVerified: situation.holder = try await apple("sub-\(UUID())", situation.email)
            case .anotherWithPassword: situation.holder = try await journey.register(identifier: situation.email)
            case .anotherWithMore:
                let session = try await journey.register(identifier: situation.email)
                let token = try await journey.appleToken(.init(sub: "sub-\(UUID())"))
                let linked = try await journey.api.call(
                    "POST", "/v1/auth/identities/apple", bearer: session.accessToken,
                    json: LinkAppleRequest(identityToken: token.identityToken))
                try #require(linked.status == 200, "\(linked.text)")
                situation.holder = session
            }
            return situation
        }

        private func expect(
            _ expected: Outcome, _ user: User?, in situation: Situation, _ comment: Comment
        ) async throws {
            let isHolders = user != nil && user?.id == situation.holder?.user.id
            let hasIt = user?.email == situation.email
            let outcome: Outcome =
                switch user {
                case nil: .none
                case let user? where isHolders: .holders(verified: user.emailVerified)
                // Apple's address is shown where it is no user's identifier here, but not as verified.
                case let user? where hasIt && (user.emailVerified || !user.authProviders.contains(.apple)):
                    .new(verified: user.emailVerified)
                default: .without
                }
            #expect(outcome == expected, comment)
            guard let holder = situation.holder, user != nil else { return }
            let now = try await journey.me(holder.accessToken).decode(User.self)
            let isTaken = expected == .new(verified: true)
            #expect(now.lostIdentifiers == (isTaken ? [.email] : nil), comment)
            if isTaken { #expect(user?.mergeableIdentifiers == [.email], comment) }
        }

        @Test(
            arguments: zip(
                Holder.allCases,
                [
                    Outcome.new(verified: true), .holders(verified: true), .without, .new(verified: true),
                    .new(verified: true),
                ]))
        func whoVerifiesItByApple(holder: Holder, outcome: Outcome) async throws {
            let situation = try await make(holder)
            let session = try await apple(situation.sub, situation.email)
            try await expect(outcome, session.user, in: situation, "\(holder)")
        }

        @Test(
            arguments: zip(
                Holder.allCases,
                [
                    Outcome.new(verified: true), .holders(verified: true), .holders(verified: true),
                    .new(verified: true),
                    .new(verified: true),
                ]))
        func whoVerifiesItByCode(holder: Holder, outcome: Outcome) async throws {
            let situation = try await make(holder)
            let session = try await code(situation.email)
            try await expect(outcome, session.user, in: situation, "\(holder)")
        }

        @Test(arguments: zip(Holder.allCases, [Outcome.new(verified: false), .none, .none, .none, .none]))
        func whoRegistersIt(holder: Holder, outcome: Outcome) async throws {
            let situation = try await make(holder)
            let answer = try await journey.api.call(
                "POST", "/v1/auth/register",
                json: RegisterRequest(identifier: situation.email, password: "another password than that"))
            #expect(answer.status == (outcome == .none ? 409 : 201), "\(answer.text)")
            let user = answer.status == 201 ? try answer.decode(AuthResponse.self).user : nil
            try await expect(outcome, user, in: situation, "\(holder)")
        }

        @Test(
            arguments: zip(
                Holder.allCases,
                [
                    Outcome.none, .holders(verified: true), .holders(verified: true), .holders(verified: true), .none,
                ]))
        func whoIsSentAResetThere(holder: Holder, outcome: Outcome) async throws {
            let situation = try await make(holder)
            // Another one's comes after it: then this one's would be there, too.
            let other = try await journey.register().user.email ?? ""
            for email in [situation.email, other] {
                let asked = try await journey.api.call(
                    "POST", "/v1/auth/password/forgot", json: ForgotPasswordRequest(identifier: email))
                #expect(asked.status == 202)
            }
            let awaited = outcome == .none ? other : situation.email
            try await eventually("a mail is sent") { !system.mail.messages(to: awaited).isEmpty }
            guard let token = system.mail.messages(to: situation.email).last?.token else {
                return try await expect(outcome, nil, in: situation, "\(holder)")
            }
            let password = "a password that is new"
            let reset = try await journey.api.call(
                "POST", "/v1/auth/password/reset", json: ResetPasswordRequest(token: token, newPassword: password))
            #expect(reset.status == 204, "\(reset.text)")
            let session = try await journey.api.call(
                "POST", "/v1/auth/login", json: LoginRequest(identifier: situation.email, password: password)
            ).decode(AuthResponse.self)
            #expect(outcome == .holders(verified: session.user.emailVerified))
            #expect(session.user.id == situation.holder?.user.id, "\(holder)")
        }

        @Test(
            arguments: zip(
                Holder.allCases,
                [
                    Outcome.new(verified: true), .holders(verified: true), .none, .new(verified: true),
                    .new(verified: true),
                ]))
        func whomAnOperatorGivesIt(holder: Holder, outcome: Outcome) async throws {
            let situation = try await make(holder)
            let claimant =
                if holder == .claimant, let holder = situation.holder { holder } else {
                    try await journey.register(identifier: Journey.uniquePhone())
                }
            let words = ["users", "add-identifier", claimant.user.id.uuidString, situation.email]
            do {
                try await system.process("identity").run(words)
                #expect(outcome != .none)
            } catch let error as TestKitError {
                #expect(outcome == .none && "\(error)".contains("has verified it"), "\(error)")
                return
            }
            let user = try await journey.me(claimant.accessToken).decode(User.self)
            try await expect(outcome, user, in: situation, "\(holder)")
        }

        // MARK: - What becomes of the account that has lost it

        private func merge(_ session: AuthResponse, _ request: MergeRequest) async throws -> TestHTTPClient.Response {
            try await journey.api.call("POST", "/v1/auth/merge", bearer: session.accessToken, json: request)
        }

        /// An attacker who registers another user's address, with any credential, shares nothing with its owner.
        @Test func whoRegisteredTheAddressOfAnotherSharesNothing() async throws {
            let situation = try await make(.anotherWithMore)
            let attacker = try #require(situation.holder)
            let victim = try await code(situation.email)
            let guess = MergeRequest(code: "000000", identifier: situation.email)
            #expect(try await merge(attacker, guess).code == "INVALID_CREDENTIALS")
            for request in [
                MergeRequest(password: Journey.password),
                MergeRequest(password: Journey.password, identifier: situation.email),
            ] {
                #expect(try await merge(attacker, request).code == "INVALID_CREDENTIALS")
            }
            let seen = try await journey.me(attacker.accessToken).decode(User.self)
            #expect(seen.email != situation.email && seen.lostIdentifiers == [.email])
            #expect(try await journey.me(victim.accessToken).decode(User.self).id != attacker.user.id)
            let login = try await journey.api.call(
                "POST", "/v1/auth/login", json: LoginRequest(identifier: situation.email, password: Journey.password))
            #expect(login.code == "INVALID_CREDENTIALS")
            // At the next refresh, without a question to identity.
            var session = attacker
            try await eventually("the session knows") {
                session = try await journey.refresh(session.refreshToken).decode(AuthResponse.self)
                return session.user.lostIdentifiers == [.email]
            }
        }

        /// The account that loses an address is told at its number, which it has verified.
        @Test func whoLosesAnAddressIsToldAtTheNumber() async throws {
            let (email, phone) = (Journey.uniqueEmail(), Journey.uniquePhone())
            let session = try await journey.register(identifier: email)
            let asked = try await journey.api.call(
                "POST", "/v1/auth/code", json: CodeRequest(identifier: phone, purpose: .verify))
            try #require(asked.status == 202, "\(asked.text)")
            let added = try await journey.api.call(
                "PUT", "/v1/auth/identifiers/phone", bearer: session.accessToken,
                json: ChangeIdentifierRequest(identifier: phone, code: try await messages.code(to: phone)))
            try #require(added.status == 200, "\(added.text)")
            _ = try await code(email)
            let notice = try await messages.message(2, to: phone)
            #expect(notice.contains("no longer opens your account"), "\(notice)")
            let login = try await journey.api.call(
                "POST", "/v1/auth/login", json: LoginRequest(identifier: phone, password: Journey.password))
            #expect(try login.decode(AuthResponse.self).user.id == session.user.id, "it keeps this way in")
        }
    }
}
