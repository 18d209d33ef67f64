import Contracts
import Foundation
import Hummingbird
import Postgres
import TestKit
import Testing

extension SystemTests {
    /// A stolen access token makes nobody's account the thief's: the time of the last proof stands in it.
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

        private func reauthenticate(
            _ session: AuthResponse, _ proof: ReauthenticateRequest
        ) async throws -> TestHTTPClient.Response {
            try await journey.api.call("POST", "/v1/auth/reauthenticate", bearer: session.accessToken, json: proof)
        }

        private func refreshed(_ session: AuthResponse) async throws -> AuthResponse {
            try await journey.refresh(session.refreshToken).decode(AuthResponse.self)
        }

        private func expectRefused(_ step: Step, as session: AuthResponse) async throws {
            let answer = try await send(step, as: session)
            #expect(answer.status == 403 && answer.code == "REAUTHENTICATION_REQUIRED", "\(step.path) \(answer.text)")
            #expect(answer.header("www-authenticate")?.contains(#"max_age="600""#) == true)
        }

        /// Each step is refused to the old token, and allowed once the user has proved themself and refreshed.
        private func walk(
            _ signedIn: AuthResponse, _ steps: [Step], proof: () async throws -> ReauthenticateRequest
        ) async throws {
            var session = try await system.ageProof(of: signedIn)
            for step in steps { try await expectRefused(step, as: session) }
            #expect(try await journey.me(session.accessToken).status == 200, "all else goes on")
            for step in steps {
                session = try await system.ageProof(of: session)
                try await expectRefused(step, as: session)
                let proved = try await reauthenticate(session, proof())
                #expect(proved.status == 204, "\(proved.text)")
                try await expectRefused(step, as: session)
                session = try await refreshed(session)
                let answer = try await send(step, as: session)
                #expect(answer.status == step.status, "\(step.path) \(answer.text)")
            }
        }

        @Test func whoSignedInWithAPasswordProvesThemselfByIt() async throws {
            let apple = try await journey.appleToken()
            let steps = [
                Step(
                    method: "POST", path: "/v1/auth/identities/apple",
                    json: LinkAppleRequest(identityToken: apple.identityToken), status: 200),
                Step(method: "DELETE", path: "/v1/auth/identities/apple", status: 200),
                Step(method: "GET", path: "/v1/auth/export", status: 200),
                Step(method: "DELETE", path: "/v1/auth/account", status: 202),
            ]
            try await walk(journey.register(), steps) { ReauthenticateRequest(password: Journey.password) }
        }

        @Test func whoSignedInWithAppleProvesThemselfThere() async throws {
            let apple = try await journey.appleToken(.init(email: Journey.uniqueEmail(), emailVerified: true))
            let signedIn = try await journey.signInWithApple(AppleSignInRequest(identityToken: apple.identityToken))
            let steps = [
                Step(
                    method: "POST", path: "/v1/auth/password",
                    json: ChangePasswordRequest(newPassword: Journey.password), status: 204),
                Step(method: "DELETE", path: "/v1/auth/identities/password", status: 200),
                Step(method: "DELETE", path: "/v1/auth/account", status: 202),
            ]
            try await walk(signedIn, steps) {
                ReauthenticateRequest(identityToken: try await journey.appleToken(.init(sub: apple.sub)).identityToken)
            }
        }

        @Test func anotherUsersProofIsNone() async throws {
            let other = "the password of another user"
            let registered = try await journey.api.call(
                "POST", "/v1/auth/register", json: RegisterRequest(identifier: Journey.uniqueEmail(), password: other))
            #expect(registered.status == 201)
            let stranger = try await journey.appleToken()
            _ = try await journey.signInWithApple(AppleSignInRequest(identityToken: stranger.identityToken))
            let apple = try await journey.appleToken(.init(email: Journey.uniqueEmail(), emailVerified: true))
            let withApple = try await journey.signInWithApple(AppleSignInRequest(identityToken: apple.identityToken))
            let cases = [(try await journey.register(), "INVALID_CREDENTIALS"), (withApple, "INVALID_REQUEST")]
            for (signedIn, code) in cases {
                var session = try await system.ageProof(of: signedIn)
                let password = try await reauthenticate(session, ReauthenticateRequest(password: other))
                #expect(password.code == code, "\(password.text)")
                for sub in [stranger.sub, "nobody-\(UUID())"] {
                    let token = try await journey.appleToken(.init(sub: sub)).identityToken
                    let refused = try await reauthenticate(session, ReauthenticateRequest(identityToken: token))
                    #expect(refused.status == 401 && refused.code == "INVALID_APPLE_TOKEN", "\(refused.text)")
                }
                session = try await refreshed(session)
                try await expectRefused(Step(method: "GET", path: "/v1/auth/export", status: 200), as: session)
            }
        }

        @Test func aDisabledUserProvesNothing() async throws {
            let session = try await system.ageProof(of: journey.register())
            try await system.process("identity").run(["users", "disable", session.user.id.uuidString])
            // Until the gateway has heard that the session has ended, identity refuses.
            let answer = try await reauthenticate(session, ReauthenticateRequest(password: Journey.password))
            #expect(["ACCOUNT_DISABLED", "INVALID_TOKEN"].contains(answer.code), "\(answer.text)")
            try await eventually("the session has ended") {
                try await journey.refresh(session.refreshToken).code == "INVALID_REFRESH_TOKEN"
            }
        }

        /// The migration leaves them without a time of their own: what counts is when they were made.
        @Test func aSessionOfBeforeTheClaimsIsAskedForAProof() async throws {
            let registered = try await journey.register()
            try await system.withDatabase(of: "tokens") { database in
                try await database.query(
                    """
                    UPDATE sessions SET authenticated_at = DEFAULT, authentication_methods = DEFAULT,
                        created_at = created_at - interval '30 days'
                    WHERE user_id = \(registered.user.id)
                    """)
            }
            let session = try await refreshed(registered)
            let export = Step(method: "GET", path: "/v1/auth/export", status: 200)
            try await expectRefused(export, as: session)
            let proved = try await reauthenticate(session, ReauthenticateRequest(password: Journey.password))
            #expect(proved.status == 204)
            #expect(try await send(export, as: refreshed(session)).status == 200)
        }

        @Test func aTeamsRouteAsksForAProofToo() async throws {
            let router = Router()
            router.get("payments") { request, _ in
                ["Gatehouse-Authentication-Time", "Gatehouse-Authentication-Methods"].map { name in
                    request.headers[.init(name)!] ?? "-"
                }.joined(separator: " ")
            }
            try await withHTTPServer(router) { team in
                let file = FileManager.default.temporaryDirectory.appending(path: "\(UUID().uuidString).yaml")
                defer { try? FileManager.default.removeItem(at: file) }
                let routes = """
                    routes:
                      - {name: payments, path: /payments, maximumAuthenticationAge: 600, upstreams: ['\(team.absoluteString)']}
                    """
                try Data(routes.utf8).write(to: file)
                try await system.withGateway(settings: ["GATEWAY_ROUTES_FILE": file.path()]) { gateway in
                    try await gateway.start()
                    let api = TestHTTPClient(gateway.url)
                    let session = try await system.ageProof(of: journey.register())
                    let refused = try await api.call("GET", "/payments", bearer: session.accessToken)
                    #expect(refused.status == 403 && refused.code == "REAUTHENTICATION_REQUIRED")
                    let before = Int64(Date.now.timeIntervalSince1970)
                    let proved = try await api.call(
                        "POST", "/v1/auth/reauthenticate", bearer: session.accessToken,
                        json: ReauthenticateRequest(password: Journey.password))
                    #expect(proved.status == 204, "\(proved.text)")
                    let allowed = try await api.call("GET", "/payments", bearer: refreshed(session).accessToken)
                    #expect(allowed.status == 200)
                    let told = allowed.text.split(separator: " ")
                    #expect(told.last == "pwd" && (told.first.flatMap { Int64($0) } ?? 0) >= before - 1)
                }
            }
        }
    }
}
