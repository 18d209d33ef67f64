import Foundation
import GatehouseBytes
import GatehouseServiceContracts
import HTTPTypes
import Hummingbird
import TestKit
import Testing

extension SystemTests {
    /// The ways of a user through the running system, as an app takes them.
    @Suite struct SignIn {
        let journey = Journey.current

        @Test func appleUserFromFirstSignInToLogout() async throws {
            let email = Journey.uniqueEmail()
            let first = try await journey.appleToken(.init(email: email, emailVerified: true))
            let signedIn = try await journey.signInWithApple(
                AppleSignInRequest(
                    identityToken: first.identityToken, authorizationCode: first.authorizationCode,
                    fullName: .init(givenName: "Ada", familyName: "Lovelace"),
                    device: SessionDevice(name: "Ada's iPhone", model: "iPhone17,1")))
            #expect(signedIn.user.displayName == "Ada Lovelace")
            #expect(signedIn.user.email == email)
            #expect(signedIn.user.emailVerified)
            #expect(signedIn.user.authProviders == [.apple])
            #expect(signedIn.tokenType == "Bearer")

            // Apple gives neither name nor e-mail a second time.
            let again = try await journey.appleToken(.init(sub: first.sub))
            let second = try await journey.signInWithApple(AppleSignInRequest(identityToken: again.identityToken))
            #expect(second.user.id == signedIn.user.id)
            #expect(second.user.displayName == "Ada Lovelace")
            #expect(second.user.email == email)

            try await useAndLeave(second)
        }

        @Test(arguments: ["email", "phone"])
        func passwordUserFromRegistrationToLogout(kind: String) async throws {
            let identifier = kind == "email" ? Journey.uniqueEmail() : Journey.uniquePhone()
            let registered = try await journey.register(identifier: identifier)
            #expect((kind == "email" ? registered.user.email : registered.user.phone) == identifier)
            #expect(registered.user.authProviders == [.password])
            #expect(!registered.user.emailVerified)

            let spelled = kind == "email" ? identifier.uppercased() : identifier.replacing("+49", with: "0049 ")
            let login = try await journey.api.call(
                "POST", "/v1/auth/login", json: LoginRequest(identifier: spelled, password: Journey.password))
            try #require(login.status == 200, "\(login.text)")
            #expect(login.header("cache-control")?.contains("no-store") == true)
            let session = try login.decode(AuthResponse.self)
            #expect(session.user.id == registered.user.id)

            try await useAndLeave(session)
        }

        /// A registration may name another user's address. Tokens and claims say that it is unverified.
        @Test(.onlyInASystemOfItsOwn) func anUnverifiedAddressIsAlwaysMarkedAsSuch() async throws {
            let boss = "boss-\(UUID().uuidString.lowercased())@example.com"
            let registered = try await journey.register(identifier: boss)
            let refreshed = try await journey.refresh(registered.refreshToken).decode(AuthResponse.self)
            let apple = try await journey.appleToken(.init(email: Journey.uniqueEmail(), emailVerified: true))
            let verified = try await journey.signInWithApple(AppleSignInRequest(identityToken: apple.identityToken))
            let phone = try await journey.register(identifier: Journey.uniquePhone())

            struct Claims: Decodable, Equatable {
                var email: String?
                var email_verified: Bool?
            }
            let tokens = [registered, refreshed, verified, phone].map(\.accessToken)
            let claims = try tokens.map { token in
                let payload = try #require(Base64URL.decode(token.split(separator: ".")[1]))
                return try JSONDecoder().decode(Claims.self, from: Data(payload))
            }
            #expect(
                claims == [
                    Claims(email: boss, email_verified: false), Claims(email: boss, email_verified: false),
                    Claims(email: verified.user.email, email_verified: true), Claims(),
                ])

            let router = Router()
            router.get("team") { request, _ in
                ["Gatehouse-Claim-Email", "Gatehouse-Claim-Email-Verified"].map { name in
                    request.headers[HTTPField.Name(name)!] ?? "-"
                }.joined(separator: " ")
            }
            try await withHTTPServer(router) { team in
                let file = FileManager.default.temporaryDirectory.appending(path: "\(UUID().uuidString).yaml")
                defer { try? FileManager.default.removeItem(at: file) }
                let routes =
                    "routes: [{name: team, path: /team, claims: [email], upstreams: ['\(team.absoluteString)']}]"
                try Data(routes.utf8).write(to: file)
                let settings = ["GATEWAY_ROUTES_FILE": file.path()]
                try await GatehouseSystem.current.withGateway(settings: settings) { gateway in
                    try await gateway.start()
                    let api = TestHTTPClient(gateway.url)
                    var told: [String] = []
                    for token in tokens { told.append(try await api.call("GET", "/team", bearer: token).text) }
                    #expect(told == ["\(boss) false", "\(boss) false", "\(verified.user.email ?? "") true", "- -"])
                }
            }
        }

        /// me, refresh, a device, the list of sessions, logout, and then nothing any more.
        private func useAndLeave(_ signedIn: AuthResponse) async throws {
            let me = try await journey.me(signedIn.accessToken)
            #expect(me.status == 200, "\(me.text)")
            #expect(try me.decode(User.self).id == signedIn.user.id)
            #expect(me.text.contains(signedIn.user.id.uuidString.lowercased()), "as in the token's sub")

            let refreshed = try await journey.refresh(signedIn.refreshToken)
            try #require(refreshed.status == 200, "\(refreshed.text)")
            #expect(refreshed.header("cache-control")?.contains("no-store") == true)
            let session = try refreshed.decode(AuthResponse.self)
            #expect(session.refreshToken != signedIn.refreshToken)
            #expect(session.user == signedIn.user)

            let registration = journey.registration()
            let registered = try await journey.api.call(
                "POST", "/v1/devices/register", bearer: session.accessToken, json: registration)
            try #require(registered.status == 200, "\(registered.text)")
            #expect(!registered.text.contains(registration.token))
            let device = try registered.decode(Device.self)
            let devices = try await journey.api.call("GET", "/v1/devices", bearer: session.accessToken)
            #expect(try devices.decode(DeviceList.self).devices.map(\.id) == [device.id])

            let sessions = try await journey.api.call("GET", "/v1/auth/sessions", bearer: session.accessToken)
            #expect(try sessions.decode(SessionList.self).sessions.count { $0.current } == 1)

            let logout = try await journey.api.call(
                "POST", "/v1/auth/logout", bearer: session.accessToken,
                json: LogoutRequest(refreshToken: session.refreshToken))
            #expect(logout.status == 204, "\(logout.text)")
            let refused = try await journey.refresh(session.refreshToken)
            #expect(refused.status == 401)
            #expect(refused.code == "INVALID_REFRESH_TOKEN")
            try await journey.expectRefused(session.accessToken)
            let repeated = try await journey.api.call(
                "POST", "/v1/auth/logout", json: LogoutRequest(refreshToken: session.refreshToken))
            #expect(repeated.status == 204)
        }
    }
}
