import GatehouseServiceContracts
import TestKit
import Testing

extension SystemTests {
    /// A thief cannot take an account over with an access token: the token has the time of the last authentication.
    @Suite struct StepUp {
        let system = GatehouseSystem.current
        var journey: Journey { system.journey }

        /// What changes who owns an account, ends it, or reads all of it.
        private struct Step: Sendable {
            var method: String
            var path: String
            var json: (any Encodable & Sendable)?
            var status: Int
        }

        private func send(_ step: Step, as session: AuthResponse) async throws -> TestHTTPClient.Response {
            try await journey.api.call(step.method, step.path, bearer: session.accessToken, json: step.json)
        }

        private func reauthenticate(_ session: AuthResponse) async throws -> TestHTTPClient.Response {
            try await journey.api.call(
                "POST", "/v1/auth/reauthenticate", bearer: session.accessToken,
                json: ReauthenticateRequest(password: Journey.password))
        }

        private func refreshed(_ session: AuthResponse) async throws -> AuthResponse {
            try await journey.refresh(session.refreshToken).decode(AuthResponse.self)
        }

        private func expectRefused(_ step: Step, as session: AuthResponse) async throws {
            let answer = try await send(step, as: session)
            #expect(answer.status == 403 && answer.code == "REAUTHENTICATION_REQUIRED", "\(step.path) \(answer.text)")
            #expect(answer.header("www-authenticate")?.contains(#"max_age="600""#) == true)
        }

        /// Each step is refused to the old token, and allowed once the user has authenticated again and refreshed.
        @Test func aPasswordStepsUpASession() async throws {
            let apple = try await journey.appleToken()
            let steps = [
                Step(
                    method: "POST", path: "/v1/auth/identities/apple",
                    json: LinkAppleRequest(identityToken: apple.identityToken), status: 200),
                Step(method: "DELETE", path: "/v1/auth/identities/apple", status: 200),
                Step(method: "GET", path: "/v1/auth/export", status: 200),
                Step(method: "DELETE", path: "/v1/auth/account", status: 202),
            ]
            var session = try await system.ageAuthentication(of: journey.register())
            for step in steps { try await expectRefused(step, as: session) }
            #expect(try await journey.me(session.accessToken).status == 200, "all else goes on")
            for step in steps {
                session = try await system.ageAuthentication(of: session)
                try await expectRefused(step, as: session)
                let reauthenticated = try await reauthenticate(session)
                #expect(reauthenticated.status == 204, "\(reauthenticated.text)")
                try await expectRefused(step, as: session)
                session = try await refreshed(session)
                let answer = try await send(step, as: session)
                #expect(answer.status == step.status, "\(step.path) \(answer.text)")
            }
        }
    }
}
