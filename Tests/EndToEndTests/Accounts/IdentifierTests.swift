import Contracts
import Foundation
import TestKit
import Testing

extension SystemTests {
    /// Changes of identifiers and proofs by code through the gateway.
    @Suite struct Identifiers {
        private let system = GatehouseSystem.current
        private var journey: Journey { system.journey }
        private var messages: MessageFiles { system.messages }

        private func ask(_ identifier: String, for purpose: CodePurpose, _ number: Int = 1) async throws -> String {
            let answer = try await journey.api.call(
                "POST", "/v1/auth/code", json: CodeRequest(identifier: identifier, purpose: purpose))
            try #require(answer.status == 202, "\(answer.text)")
            return try await messages.code(number, to: identifier)
        }

        private func signIn(_ email: String) async throws -> AuthResponse {
            let code = try await ask(email, for: .signIn)
            return try await journey.api.call(
                "POST", "/v1/auth/code/verify", json: VerifyCodeRequest(identifier: email, code: code)
            ).decode(AuthResponse.self)
        }

        private func change(_ session: AuthResponse, to email: String, code: String) async throws
            -> TestHTTPClient.Response
        {
            try await journey.api.call(
                "PUT", "/v1/auth/identifiers/email", bearer: session.accessToken,
                json: ChangeIdentifierRequest(identifier: email, code: code))
        }

        @Test func aStepUpByCodeThenAChangeThenItsUndoing() async throws {
            let (old, new) = (Journey.uniqueEmail(), Journey.uniqueEmail())
            var session = try await system.ageProof(of: signIn(old))
            let code = try await ask(new, for: .verify)
            let refused = try await change(session, to: new, code: code)
            #expect(refused.status == 403 && refused.code == "REAUTHENTICATION_REQUIRED")
            let stepUp = VerifyCodeRequest(identifier: old, code: try await ask(old, for: .stepUp, 2))
            #expect(try await journey.api.call("POST", "/v1/auth/code/verify", json: stepUp).status == 401)
            let proved = try await journey.api.call(
                "POST", "/v1/auth/code/verify", bearer: session.accessToken, json: stepUp)
            #expect(proved.status == 204, "\(proved.text)")
            session = try await journey.refresh(session.refreshToken).decode(AuthResponse.self)
            let changed = try await change(session, to: new, code: code)
            #expect(changed.status == 200, "\(changed.text)")
            #expect(try await journey.me(session.accessToken).decode(User.self).email == new)

            let notice = try await messages.message(3, to: old)
            let token = String(try #require(notice.firstMatch(of: /ghiu_[A-Za-z0-9_-]+/), "\(notice)").0)
            // An app may attach an expired bearer.
            let undone = try await journey.api.call(
                "POST", "/v1/auth/identifiers/undo", bearer: "junk", json: UndoIdentifierChangeRequest(token: token))
            #expect(undone.status == 204, "\(undone.text)")
            let again = try await journey.api.call(
                "POST", "/v1/auth/identifiers/undo", json: UndoIdentifierChangeRequest(token: token))
            #expect(again.status == 400 && again.code == "INVALID_REQUEST")
            #expect(try await journey.refresh(session.refreshToken).code == "INVALID_REFRESH_TOKEN")
            try await journey.expectRefusedSoon(session.accessToken)
        }
    }
}
