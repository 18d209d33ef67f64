import Foundation
import GatehouseServiceContracts
import Postgres
import TestKit
import Testing

extension ImpatientFaultTests {
    /// Apple begins answers and does not end them: sign-ins with a known key succeed, those with a new key are refused
    /// until Apple answers again. `AppleTokenTests` and `AppleStallTests` have the other ways in which Apple is away.
    @Suite struct AppleFaults {
        let system = GatehouseSystem.current

        private struct Fault: Codable, Sendable {
            var mode: String
        }

        @Test func onlyNewKeysWaitForApple() async throws {
            try await withFreshIdentity { journey in
                let first = try await journey.appleToken(.init(email: Journey.uniqueEmail(), emailVerified: true))
                let ada = try await journey.signInWithApple(AppleSignInRequest(identityToken: first.identityToken))

                try await set("stalled")
                // The code waits for Apple, and its sign-in does not.
                let known = try await journey.appleToken(.init(sub: first.sub))
                let again = try await journey.signInWithApple(
                    AppleSignInRequest(
                        identityToken: known.identityToken, authorizationCode: known.authorizationCode))
                #expect(again.user.id == ada.user.id)

                try await rotateKeys()
                let new = try await journey.appleToken(.init(sub: first.sub))
                let refused = try await signIn(new, journey)
                #expect(refused.status == 503 && refused.code == "UNAVAILABLE", "\(refused.status) \(refused.text)")
                #expect(refused.header("retry-after") != nil)
                let notification = try await notify(of: first.sub, journey)
                #expect(notification.code == "UNAVAILABLE", "\(notification.text)")

                // Everything else goes on.
                #expect(try await journey.refresh(again.refreshToken).status == 200)
                #expect(try await journey.me(ada.accessToken).status == 200)
                _ = try await journey.register()

                try await set("none")
                var answers: [String] = []
                try await eventually("the new key is known") {
                    let answer = try await signIn(new, journey)
                    answers.append(answer.code ?? "\(answer.status)")
                    return answer.status == 200
                }
                #expect(answers.allSatisfy { ["200", "UNAVAILABLE"].contains($0) }, "\(answers)")
                try await eventually("the code is exchanged") {
                    try await system.withDatabase(of: "identity") { database in
                        try await !database.query(
                            """
                            SELECT subject FROM apple_identities JOIN credentials ON id = credential_id
                            WHERE subject = \(first.sub) AND refresh_token IS NOT NULL
                            """
                        ).isEmpty
                    }
                }
            }
            try await set("none")
        }

        private func set(_ mode: String) async throws {
            let answer = try await system.apple.call("POST", "/simulator/fault", json: Fault(mode: mode))
            try #require(answer.status == 200, "\(answer.text)")
        }

        private func rotateKeys() async throws {
            let answer = try await system.apple.call("POST", "/simulator/rotate-keys", body: nil)
            try #require(answer.status == 200, "\(answer.text)")
        }

        private func signIn(
            _ token: Journey.AppleSignInAnswer, _ journey: Journey
        ) async throws -> TestHTTPClient.Response {
            try await journey.api.call(
                "POST", "/v1/auth/apple", json: AppleSignInRequest(identityToken: token.identityToken))
        }

        private func notify(of subject: String, _ journey: Journey) async throws -> TestHTTPClient.Response {
            try await journey.api.call(
                "POST", "/v1/auth/apple/notifications",
                json: try await journey.appleNotification(.init(type: "consent-revoked", sub: subject)))
        }

        /// Runs `body` with an identity that knows no key of Apple's yet, behind a gateway of its own.
        private func withFreshIdentity(_ body: (Journey) async throws -> Void) async throws {
            try await system.withReplica(of: "identity") { identity in
                try await identity.start()
                try await system.withGateway(settings: ["GATEWAY_IDENTITY_URL": identity.url.absoluteString]) {
                    gateway in
                    try await gateway.start()
                    try await body(system.journey(through: gateway))
                }
            }
        }
    }
}
