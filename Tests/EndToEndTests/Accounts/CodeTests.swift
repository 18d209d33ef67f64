import Contracts
import Foundation
import Postgres
import TestKit
import Testing

extension SystemTests {
    /// Codes through the gateway, as an app asks for them and shows them.
    @Suite struct Codes {
        let journey = GatehouseSystem.current.journey
        let messages = GatehouseSystem.current.messages

        private func ask(_ identifier: String, for purpose: CodePurpose = .signIn) async throws -> CodeResponse {
            let answer = try await journey.api.call(
                "POST", "/v1/auth/code", json: CodeRequest(identifier: identifier, purpose: purpose))
            try #require(answer.status == 202, "\(answer.text)")
            return try answer.decode(CodeResponse.self)
        }

        private func show(
            _ request: VerifyCodeRequest, bearer: String? = nil
        ) async throws -> TestHTTPClient.Response {
            try await journey.api.call("POST", "/v1/auth/code/verify", bearer: bearer, json: request)
        }

        @Test(arguments: ["email", "phone"])
        func fromTheCodeToASession(kind: String) async throws {
            let identifier = kind == "email" ? Journey.uniqueEmail() : Journey.uniquePhone()
            let asked = try await ask(identifier)
            let code = try await messages.code(to: identifier)
            // An app may attach an expired bearer.
            let answer = try await show(.init(identifier: identifier, code: code), bearer: "junk")
            try #require(answer.status == 200, "\(answer.text)")
            let session = try answer.decode(AuthResponse.self)
            #expect((kind == "email" ? session.user.email : session.user.phone) == identifier)
            #expect(try await journey.me(session.accessToken).decode(User.self) == session.user)
            let refreshed = try await journey.refresh(session.refreshToken).decode(AuthResponse.self)
            #expect(refreshed.user == session.user)
            #expect(refreshed.user.phoneVerified == (kind == "phone" ? true : nil))
            let again = try await show(.init(code: code, codeRequest: asked.codeRequest))
            #expect(again.status == 401 && again.code == "INVALID_CREDENTIALS")
        }

        @Test func anAddressIsProvedInASession() async throws {
            let session = try await journey.register()
            let email = try #require(session.user.email)
            _ = try await ask(email, for: .verify)
            let code = try await messages.code(to: email)
            let shown = VerifyCodeRequest(identifier: email, code: code)
            #expect(try await show(shown, bearer: "junk").code == "INVALID_TOKEN")
            #expect(try await show(shown, bearer: session.accessToken).status == 204)
            #expect(try await journey.me(session.accessToken).decode(User.self).emailVerified)
        }

        @Test func whatHasExpiredIsRefused() async throws {
            let email = Journey.uniqueEmail()
            let asked = try await ask(email)
            let code = try await messages.code(to: email)
            try await GatehouseSystem.current.withDatabase(of: "identity") { database in
                try await database.query(
                    "UPDATE codes SET expires_at = now() WHERE id = \(UUID(uuidString: asked.codeRequest))")
            }
            #expect(try await show(.init(identifier: email, code: code)).code == "INVALID_CREDENTIALS")
        }

        @Test func fiveTriesAreAllThereAre() async throws {
            let email = Journey.uniqueEmail()
            let asked = try await ask(email)
            let code = try await messages.code(to: email)
            let wrong = code == "000000" ? "000001" : "000000"
            for _ in 0..<5 {
                #expect(try await show(.init(code: wrong, codeRequest: asked.codeRequest)).status == 401)
            }
            #expect(try await show(.init(code: code, codeRequest: asked.codeRequest)).status == 401)
        }

        @Test func knownAndUnknownLookTheSame() async throws {
            let known = try await journey.register().user.email ?? ""
            let unknown = Journey.uniqueEmail()
            for identifier in [known, unknown] {
                let asked = try await ask(identifier)
                #expect(asked.expiresIn == 600 && asked.resendAfter == 30)
                let soon = try await journey.api.call(
                    "POST", "/v1/auth/code", json: CodeRequest(identifier: identifier, purpose: .signIn))
                #expect(soon.status == 429 && soon.header("retry-after") != nil, "\(soon.text)")
                let wrong = try await show(.init(identifier: identifier, code: "12"))
                #expect(wrong.status == 400)
                _ = try await messages.code(to: identifier)
            }
        }
    }
}
