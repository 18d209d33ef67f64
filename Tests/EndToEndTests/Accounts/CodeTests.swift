import Contracts
import Foundation
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
    }
}
