import Foundation
import GatehouseServiceContracts
import NIOHTTP1
import Postgres
import Synchronization
import TestKit
import Testing

@testable import IdentityService

extension ServiceTests {
    /// Codes, from the request for one to what comes of it.
    @Suite struct CodeRoutesTests {
        private func withCodes(
            _ settings: [String: String] = [:], _ body: @escaping @Sendable (Harness, MessageFiles) async throws -> Void
        ) async throws {
            let folder = FileManager.default.temporaryDirectory.appending(path: "messages-\(UUID())")
            defer { try? FileManager.default.removeItem(at: folder) }
            let own = ["IDENTITY_MESSAGE_FOLDER": folder.path(), "IDENTITY_APP_NAME": "Shop"]
            try await withIdentity(settings.merging(own) { $1 }) { identity in
                try await body(identity, MessageFiles(folder: folder))
            }
        }

        /// Asks from an address of its own, so that no caller has to wait.
        private func ask(
            _ identity: Harness, _ identifier: String, for purpose: CodePurpose = .signIn,
            from address: String = UUID().uuidString
        ) async throws -> CodeResponse {
            let answer = try await identity.post(
                "/v1/auth/code", CodeRequest(identifier: identifier, purpose: purpose), from: address)
            #expect(answer.status == 202, "\(answer.text)")
            return try answer.decode()
        }

        private func present(
            _ identity: Harness, _ request: VerifyCodeRequest, as user: UUID? = nil
        ) async throws -> TestHTTPClient.Response {
            guard let user else { return try await identity.post("/v1/auth/code/verify", request) }
            return try await identity.send(
                .POST, "/v1/auth/code/verify", as: user, json: String(decoding: JSON.encode(request), as: UTF8.self))
        }

        private func wrong(_ code: String) -> String { code == "000000" ? "000001" : "000000" }

        @Test(arguments: ["ada@example.com", "+491711234567"])
        func whoIsNewIsRegisteredAndComesBack(identifier: String) async throws {
            try await withCodes { identity, messages in
                let asked = try await ask(identity, identifier)
                #expect(asked.expiresIn == 600 && asked.resendAfter == 30)
                let code = try await messages.code(to: identifier)
                #expect(try await present(identity, .init(identifier: identifier, code: wrong(code))).status == 401)
                let device = SessionDevice(installationId: UUID().uuidString, name: "Phone")
                let answer = try await present(
                    identity, .init(identifier: identifier.uppercased(), code: " \(code) ", device: device))
                #expect(answer.status == 200 && answer.header("Cache-Control") == "no-store", "\(answer.text)")
                let user = try answer.decode(AuthResponse.self).user
                #expect((user.email ?? user.phone) == identifier)
                #expect(user.emailVerified == (user.email != nil))
                #expect(user.phoneVerified == (user.phone != nil ? true : nil))
                #expect(user.authProviders.isEmpty)
                #expect(identity.tokens.live(user.id) == 1)

                _ = try await ask(identity, identifier)
                let second = try await messages.code(2, to: identifier)
                let again = try await present(identity, .init(identifier: identifier, code: second))
                #expect(try again.decode(AuthResponse.self).user.id == user.id)
                #expect(
                    try await present(identity, .init(identifier: identifier, code: second)).code
                        == "INVALID_CREDENTIALS")
                // The user has verified it, so that no other user registers it.
                let taken = try await identity.post(
                    "/v1/auth/register", RegisterRequest(identifier: identifier, password: "tulpenzwiebel"))
                #expect(taken.code == "IDENTIFIER_TAKEN")
            }
        }

        /// Others hear of the user before they hear of anything that the user has.
        @Test func theFirstEventOfANewUserIsTheCreation() async throws {
            try await withCodes { identity, messages in
                _ = try await ask(identity, "ada@example.com")
                let code = try await messages.code(to: "ada@example.com")
                let answer = try await present(identity, .init(identifier: "ada@example.com", code: code))
                #expect(answer.status == 200)
                try await sequenceAudit(on: identity.database)
                let page = try await EventFeedStore(database: identity.database, logger: .quiet)
                    .page(after: nil, waitingUntil: .now)
                #expect(page.events.map(\.type) == [.userCreated, .sessionCreated])
            }
        }

        @Test func whoVerifiesAnAddressGetsIt() async throws {
            try await withCodes { identity, messages in
                let former = try await identity.register("ada@example.com").user
                _ = try await ask(identity, "ada@example.com")
                let code = try await messages.code(to: "ada@example.com")
                let user = try await present(identity, .init(identifier: "ada@example.com", code: code))
                    .decode(AuthResponse.self).user
                #expect(user.id != former.id && user.emailVerified)
                #expect(try await identity.login("ada@example.com").code == "INVALID_CREDENTIALS")
                let events = try await identity.database.query(
                    "SELECT event FROM audit_entries WHERE user_id = \(former.id) ORDER BY id"
                ).decode(String.self)
                #expect(events == ["registered", "signed_in", "identifier_lost"])
            }
        }

        @Test func aVerifiedAddressStaysWithItsAccount() async throws {
            try await withCodes { identity, messages in
                let user = try await identity.signIn("ada", email: "ada@example.com").user
                _ = try await ask(identity, "ada@example.com")
                let code = try await messages.code(to: "ada@example.com")
                let auth: AuthResponse = try await present(identity, .init(identifier: "ada@example.com", code: code))
                    .decode()
                #expect(auth.user.id == user.id && auth.user.authProviders == [.apple])
                // The code remains as a way in.
                let unlinked = try await identity.send(.DELETE, "/v1/auth/identities/apple", as: user.id)
                #expect(unlinked.status == 200, "\(unlinked.text)")
            }
        }

        @Test func onlyWhoVerifiesItIsToldThatAnAccountIsDisabled() async throws {
            try await withCodes { identity, messages in
                _ = try await identity.signIn("ada", email: "ada@example.com")
                try await identity.database.query("UPDATE users SET state = 'disabled'")
                let asked = try await ask(identity, "ada@example.com")
                let code = try await messages.code(to: "ada@example.com")
                let refused = try await present(
                    identity, .init(code: wrong(code), codeRequest: asked.codeRequest))
                #expect(refused.code == "INVALID_CREDENTIALS")
                let told = try await present(identity, .init(code: code, codeRequest: asked.codeRequest))
                #expect(told.code == "ACCOUNT_DISABLED")
                #expect(identity.tokens.liveCount == 1)
            }
        }

        @Test func anAddressIsVerifiedByItsUserAlone() async throws {
            try await withCodes { identity, messages in
                let ada = try await identity.register("ada@example.com").user
                let eve = try await identity.register("eve@example.com").user
                #expect(!ada.emailVerified && ada.phoneVerified == nil)
                let asked = try await ask(identity, "ada@example.com", for: .verify)
                let code = try await messages.code(to: "ada@example.com")
                let presented = VerifyCodeRequest(
                    identifier: "ada@example.com", code: code, codeRequest: asked.codeRequest)
                #expect(try await present(identity, presented).code == "INVALID_CREDENTIALS")
                #expect(try await present(identity, presented, as: eve.id).code == "INVALID_CREDENTIALS")
                #expect(try await present(identity, presented, as: ada.id).status == 204)
                let me: User = try await identity.send(.GET, "/v1/auth/me", as: ada.id).decode()
                #expect(me.emailVerified && me.id == ada.id)
                #expect(try await identity.login("ada@example.com").status == 200)
                try await eventually("tokens is told") {
                    identity.tokens.state.withLock { $0.snapshots[ada.id]?.user.emailVerified } == true
                }
            }
        }

        @Test func aRefusedBearerIsWhyNoCodeWasFound() async throws {
            try await withCodes { identity, messages in
                _ = try await identity.register("ada@example.com")
                _ = try await ask(identity, "ada@example.com", for: .verify)
                let verify = try await messages.code(to: "ada@example.com")
                _ = try await ask(identity, "ada@example.com")
                let signIn = try await messages.code(2, to: "ada@example.com")
                func present(_ code: String) async throws -> TestHTTPClient.Response {
                    try await identity.send(
                        .POST, "/v1/auth/code/verify", json: #"{"identifier":"ada@example.com","code":"\#(code)"}"#,
                        headers: [
                            HeaderName.credential: Harness.gatewayCredential, HeaderName.bearerError: "TOKEN_EXPIRED",
                        ])
                }
                if verify != signIn { #expect(try await present(verify).code == "TOKEN_EXPIRED") }
                #expect(try await present(signIn).status == 200)
            }
        }

        /// Without Redis, so that the counts are exact. Redis answers too late at times on a busy machine, and the
        /// service then begins to count anew by itself.
        private static let withLimits = ["GATEHOUSE_RATE_LIMITS": "on", "IDENTITY_REDIS_URL": "redis://127.0.0.1:1"]

        /// Wrong codes until one is refused.
        /// - Returns: what they were answered.
        private func guess(
            _ identity: Harness, _ identifier: String, from address: String, headers: [String: String] = [:]
        ) async throws -> [String?] {
            var codes: [String?] = []
            let own = [HeaderName.credential: Harness.gatewayCredential, HeaderName.clientAddress: address]
            while codes.last != "RATE_LIMITED", codes.count < 40 {
                let answer = try await identity.send(
                    .POST, "/v1/auth/code/verify", json: #"{"identifier":"\#(identifier)","code":"000000"}"#,
                    headers: own.merging(headers) { $1 })
                codes.append(answer.code)
            }
            return codes
        }

        /// Every comparison is charged, whatever is answered.
        @Test func aRefusedBearerGivesNoGuessBack() async throws {
            try await withCodes(Self.withLimits) { identity, messages in
                let identifier = "ada-\(UUID().uuidString.lowercased())@example.com"
                for _ in 0..<6 { _ = try await ask(identity, identifier) }
                let codes = try await guess(
                    identity, identifier, from: UUID().uuidString, headers: [HeaderName.bearerError: "INVALID_TOKEN"])
                #expect(codes.dropLast().allSatisfy { $0 == "INVALID_TOKEN" } && codes.last == "RATE_LIMITED")
                #expect((2...4).contains(codes.count), "\(codes)")
            }
        }

        /// A guess that is compared with nothing costs the user nothing.
        @Test func wrongCodesWithoutAnOpenOneLockNobodyOut() async throws {
            try await withCodes(Self.withLimits) { identity, messages in
                let identifier = "ada-\(UUID().uuidString.lowercased())@example.com"
                for _ in 0..<6 {
                    let codes = try await guess(identity, identifier, from: UUID().uuidString)
                    #expect(codes.allSatisfy { $0 == "INVALID_CREDENTIALS" })
                }
                _ = try await ask(identity, identifier)
                let code = try await messages.code(to: identifier)
                #expect(try await present(identity, .init(identifier: identifier, code: code)).status == 200)
            }
        }

        /// Strangers use up every guess that is charged to the identifier. The request that asked has two more.
        @Test func theDeviceThatAskedHasTriesOfItsOwn() async throws {
            try await withCodes(Self.withLimits) { identity, messages in
                let identifier = "ada-\(UUID().uuidString.lowercased())@example.com"
                for _ in 0..<2 { _ = try await ask(identity, identifier) }
                for _ in 0..<6 { _ = try await guess(identity, identifier, from: UUID().uuidString) }
                let asked = try await ask(identity, identifier)
                let code = try await messages.code(3, to: identifier)
                #expect(try await present(identity, .init(identifier: identifier, code: code)).code == "RATE_LIMITED")
                func own(_ code: String) -> VerifyCodeRequest {
                    .init(identifier: identifier, code: code, codeRequest: asked.codeRequest)
                }
                #expect(try await present(identity, own(wrong(code))).code == "INVALID_CREDENTIALS")
                #expect(try await present(identity, own(code)).status == 200)
            }
        }

        /// Thirty networks have used up what may be sent. The user is answered 202 and shows the code that was sent
        /// last.
        @Test func theCodeThatWasSentLastServesWhereNoMoreAreSent() async throws {
            try await withCodes(Self.withLimits) { identity, messages in
                let identifier = "ada-\(UUID().uuidString.lowercased())@example.com"
                var sent: Set<String> = []
                for number in 1...30 {
                    sent.insert(try await ask(identity, identifier).codeRequest)
                    // Messages that are under way together may arrive in another order.
                    if number <= 17 { _ = try await messages.code(number, to: identifier) }
                }
                let kept = try await identity.database.query("SELECT count(*) FROM codes")[0].decode(Int.self)
                // All that were answered without a message have the same request.
                #expect(sent.count == 18 && kept == 17, "\(kept)")
                let asked = try await ask(identity, identifier)
                #expect((1...600).contains(asked.expiresIn) && asked.resendAfter > 600)
                let code = try await messages.code(17, to: identifier)
                let request = VerifyCodeRequest(identifier: identifier, code: code, codeRequest: asked.codeRequest)
                #expect(try await present(identity, request).status == 200)
                // Without an open code it is of no use to say that one was sent.
                let refused = try await identity.post(
                    "/v1/auth/code", CodeRequest(identifier: identifier, purpose: .signIn), from: UUID().uuidString)
                #expect(refused.code == "RATE_LIMITED")
            }
        }

        /// Beside an attacker in the same network no message is sent for the user. The link of the code that was sent
        /// last serves with the request that was answered without one.
        @Test func theLinkThatWasSentLastServesWhereNoMoreAreSent() async throws {
            let link = ["IDENTITY_CODE_LINK_URL": "https://shop.example.com/open"]
            try await withCodes(Self.withLimits.merging(link) { $1 }) { identity, messages in
                let names = ["ada", "eve"].map { "\($0)-\(UUID().uuidString.lowercased())@example.com" }
                func token(_ number: Int, _ identifier: String) async throws -> String {
                    let message = try await messages.message(number, to: identifier)
                    return String(try #require(message.firstMatch(of: #/open#(ghlt_\S+)/#)).1)
                }
                let cafe = UUID().uuidString
                let first = try await ask(identity, names[0], from: cafe)
                try await identity.database.query("UPDATE codes SET created_at = created_at - interval '31 seconds'")
                let second = try await ask(identity, names[0], from: cafe)
                // A double tap keeps the request that was answered first.
                let tap = CodeRequest(identifier: names[0], purpose: .signIn)
                #expect(try await identity.post("/v1/auth/code", tap, from: cafe).code == "RATE_LIMITED")
                // The attacker's requests make the network wait for more than half a minute.
                try await identity.database.query("UPDATE codes SET created_at = created_at - interval '31 seconds'")
                let repeated = try await ask(identity, names[0], from: cafe)
                #expect(Set([first, second, repeated].map(\.codeRequest)).count == 3)
                #expect((1...29).contains(repeated.resendAfter) && (1...600).contains(repeated.expiresIn))
                _ = try await ask(identity, names[1])
                for wrong in [try await token(1, names[1]), "ghlt_x"] {
                    let refused = try await present(
                        identity, .init(codeRequest: repeated.codeRequest, linkToken: wrong))
                    #expect(refused.code == "INVALID_CREDENTIALS")
                }
                let opened = try await present(
                    identity, .init(codeRequest: repeated.codeRequest, linkToken: try await token(2, names[0])))
                #expect(try opened.decode(AuthResponse.self).user.email == names[0])
            }
        }

        /// The attacker's requests neither make a known device wait nor use up what it has.
        @Test func aKnownDeviceIsServedBesideAnAttacker() async throws {
            try await withCodes(Self.withLimits) { identity, messages in
                let identifier = "ada-\(UUID().uuidString.lowercased())@example.com"
                let (cafe, home) = (UUID().uuidString, UUID().uuidString)
                _ = try await ask(identity, identifier)
                let first = try await messages.code(to: identifier)
                let auth = try await identity.post(
                    "/v1/auth/code/verify", VerifyCodeRequest(identifier: identifier, code: first), from: home
                ).decode(AuthResponse.self)
                let device = SessionDevice(deviceToken: auth.deviceToken)
                for _ in 0..<30 { _ = try? await ask(identity, identifier) }
                let kept = try await identity.database.query("SELECT count(*) FROM codes")[0].decode(Int.self)
                func asks(from address: String, on device: SessionDevice?) async throws -> Int {
                    let request = CodeRequest(identifier: identifier, purpose: .signIn, device: device)
                    _ = try await identity.post("/v1/auth/code", request, from: address)
                    return try await identity.database.query("SELECT count(*) FROM codes")[0].decode(Int.self) - kept
                }
                #expect(try await asks(from: cafe, on: nil) == 0)
                #expect(try await asks(from: cafe, on: device) == 1)
                #expect(try await asks(from: cafe, on: device) == 1, "it has to wait for itself")
                #expect(try await asks(from: home, on: nil) == 2, "a network from which the user has signed in")
            }
        }

        @Test func theLinkOpensWhereItWasAskedFor() async throws {
            let link = ["IDENTITY_CODE_LINK_URL": "https://shop.example.com/open"]
            try await withCodes(link) { identity, messages in
                let asked = try await ask(identity, "ada@example.com")
                let message = try await messages.message(to: "ada@example.com")
                let token = try #require(message.firstMatch(of: #/https://shop\.example\.com/open#(ghlt_\S+)/#)).1
                let elsewhere = try await present(
                    identity, .init(codeRequest: UUID().uuidString, linkToken: String(token)))
                #expect(elsewhere.code == "INVALID_CREDENTIALS")
                let without = try await present(identity, .init(linkToken: String(token)))
                #expect(without.code == "INVALID_REQUEST")
                let opened = try await present(
                    identity, .init(codeRequest: asked.codeRequest, linkToken: String(token)))
                #expect(try opened.decode(AuthResponse.self).user.email == "ada@example.com")
            }
        }

        @Test func askingAgainTooSoonIsRefused() async throws {
            try await withCodes { identity, messages in
                _ = try await identity.signIn("ada", email: "ada@example.com")
                // The same for who has an account and who has none.
                for identifier in ["ada@example.com", "nobody@example.com"] {
                    _ = try await ask(identity, identifier, from: "203.0.113.1")
                    let request = CodeRequest(identifier: identifier, purpose: .signIn)
                    let refused = try await identity.post("/v1/auth/code", request, from: "203.0.113.1")
                    #expect(refused.code == "RATE_LIMITED")
                    #expect((25...30).contains(refused.header("Retry-After").flatMap { Int($0) } ?? 0))
                    try await identity.database.query(
                        "UPDATE codes SET created_at = created_at - interval '30 seconds'")
                    #expect(try await ask(identity, identifier, from: "203.0.113.1").resendAfter == 60)
                    _ = try await messages.code(2, to: identifier)
                }
            }
        }

        @Test func theAnswerIsTheSameForEverybody() async throws {
            try await withCodes { identity, messages in
                _ = try await identity.signIn("ada", email: "ada@example.com")
                _ = try await identity.register("bob@example.com")
                for purpose in CodePurpose.known {
                    var answers: Set<[Int]> = []
                    for name in ["ada", "bob", "nobody"] {
                        let answer = try await ask(identity, "\(name)@example.com", for: purpose)
                        #expect(UUID(uuidString: answer.codeRequest) != nil)
                        answers.insert([answer.expiresIn, answer.resendAfter])
                    }
                    #expect(answers.count == 1)
                }
                for name in ["ada", "bob", "nobody"] { _ = try await messages.code(2, to: "\(name)@example.com") }
            }
        }

        @Test func aCodeServesAgainWhenNothingCameOfIt() async throws {
            try await withCodes { identity, messages in
                _ = try await ask(identity, "ada@example.com")
                let code = try await messages.code(to: "ada@example.com")
                identity.tokens.state.withLock { $0.isDown = true }
                let presented = VerifyCodeRequest(identifier: "ada@example.com", code: code)
                #expect(try await present(identity, presented).code == "UNAVAILABLE")
                identity.tokens.state.withLock { $0.isDown = false }
                #expect(try await present(identity, presented).status == 200)
            }
        }

        @Test func isWrittenInTheClientsLanguage() async throws {
            try await withCodes { identity, messages in
                for (number, (field, word)) in [("he-IL, en;q=0.5", "הקוד"), ("fr", "code"), ("ar", "رمزك")]
                    .enumerated()
                {
                    let asked = try await identity.send(
                        .POST, "/v1/auth/code", json: #"{"identifier":"ada@example.com","purpose":"signIn"}"#,
                        headers: [
                            "Accept-Language": field, HeaderName.credential: Harness.gatewayCredential,
                            HeaderName.clientAddress: "address \(number)",
                        ])
                    #expect(asked.status == 202)
                    let message = try await messages.message(number + 1, to: "ada@example.com")
                    #expect(message.contains(word) && message.contains("Shop"), "\(message)")
                }
            }
        }

        @Test func aForgottenPasswordsMessageIsWrittenToo() async throws {
            try await withCodes(["IDENTITY_RESET_LINK_URL": "https://shop.example.com/reset"]) { identity, messages in
                _ = try await identity.register("ada@example.com")
                let asked = try await identity.send(
                    .POST, "/v1/auth/password/forgot", json: #"{"identifier":"ada@example.com"}"#,
                    headers: ["Accept-Language": "ru"])
                #expect(asked.status == 202)
                let message = try await messages.message(to: "ada@example.com")
                #expect(message.contains("Новый пароль"))
                let token = try #require(message.firstMatch(of: #/shop\.example\.com/reset#(ghpr_\S+)/#)).1
                let reset = try await identity.post(
                    "/v1/auth/password/reset", ResetPasswordRequest(token: String(token), newPassword: "kaffeekuchen"))
                #expect(reset.status == 204)
                #expect(try await identity.login("ada@example.com", "kaffeekuchen").status == 200)
            }
        }

        @Test func whatCannotBeSentIsRefusedAtOnce() async throws {
            try await withCodes(["IDENTITY_CODE_TEXT_CALLING_CODES": "49,+43"]) { identity, _ in
                for (body, field) in [
                    (#"{"identifier":"+8801712345678","purpose":"signIn"}"#, "identifier"),
                    (#"{"identifier":"ada","purpose":"signIn"}"#, "identifier"),
                    (#"{"identifier":"ada@example.com","purpose":"party"}"#, "purpose"),
                ] {
                    let refused = try await identity.send(.POST, "/v1/auth/code", json: body)
                    #expect(try refused.problem().errors?.map(\.field) == [field], "\(refused.text)")
                }
                _ = try await ask(identity, "+431234567")
                for body in [
                    #"{"identifier":"ada@example.com"}"#, #"{"identifier":"ada@example.com","code":"12345"}"#,
                    #"{"code":"123456"}"#, #"{"code":"123456","codeRequest":"x"}"#,
                ] {
                    #expect(try await identity.send(.POST, "/v1/auth/code/verify", json: body).status == 400, "\(body)")
                }
            }
        }

        @Test func withoutASenderNobodyIsPromisedACode() async throws {
            try await withIdentity { identity in
                let refused = try await identity.post(
                    "/v1/auth/code", CodeRequest(identifier: "ada@example.com", purpose: .signIn))
                #expect(refused.code == "INVALID_REQUEST")
            }
        }
    }
}
