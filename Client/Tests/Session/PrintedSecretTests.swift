import GatehouseContracts
import Foundation
import Testing

@testable import GatehouseClient

@Suite("Printed values") struct PrintedSecretTests {
    @Test("No text of anything holds a token") func nothingIsPrinted() async throws {
        let device = TestDevice()
        let client = try await device.signedIn()
        let token = try await client.session.accessToken()
        let state = try #require(await device.store.stored)
        let answer = API.Answer(body: device.server.signIn("bob@example.com"), sentAt: .zero, serverDate: nil)
        let secrets = [
            token.value.value, try #require(state.session?.refreshToken.value), answer.body.accessToken,
            answer.body.refreshToken,
        ]
        let memory = InMemoryTokenStore()
        await memory.save(try state.data())
        let folder = try TemporaryFolder()
        let file = FileTokenStore(file: folder.file("session.json"))
        try await file.save(try state.data())
        device.clock.advance(by: .seconds(3601))
        device.server.fault("/v1/auth/refresh", .status(500))
        let error = await #expect(throws: GatehouseError.self) { try await client.session.accessToken() }

        expectNoneShows(
            secrets,
            [
                client, client.configuration, client.session, client.api, await client.session.state, token,
                token.value, state, state.session as Any, await client.session.machine, answer, answer.body,
                error as Any, await client.session.machine.advice(at: .zero), device.store, memory, file,
                TokenStoreError(.corrupt, "no stored session"), RefreshRequest(refreshToken: secrets[1]),
                LogoutRequest(refreshToken: secrets[1]),
                GatehouseError(.server, reason: "the answer is not a valid \(AuthResponse.self)"),
                TelemetryEvent(.refreshFailure, reason: "\(GatehouseError.Kind.server)"),
                AppState(.signedIn(Sample.user)),
            ])
    }

    @Test("Requests, responses and forms do not show their secrets") func requestsAndForms() {
        let secret = "open-sesame"
        let redacted = Redacted(secret)
        let push = EncodedPushToken(Data(secret.utf8))
        let credential = AppleCredential(
            identityToken: secret, authorizationCode: secret, nonce: AppleNonce("nonce"))
        var form = LoginForm()
        form.identifier = "ada@example.com"
        form.password = redacted
        let action = form.submit()
        var registrar = PushRegistrar(record: nil, appVersion: "1")
        let actions = registrar.handle(.token(push), now: Date()) + registrar.handle(.signedIn(UUID()), now: Date())

        expectNoneShows(
            [secret, push.hexadecimal.value],
            [
                AuthResponse(
                    accessToken: secret, refreshToken: secret, expiresIn: 1, expiresAt: Date(), refreshExpiresIn: 1,
                    refreshExpiresAt: Date(), user: Sample.user),
                RegisterRequest(identifier: "ada@example.com", password: secret),
                LoginRequest(identifier: "ada@example.com", password: secret),
                AppleSignInRequest(identityToken: secret, authorizationCode: secret),
                LinkAppleRequest(identityToken: secret), ReauthenticateRequest(password: secret),
                ReauthenticateRequest(identityToken: secret), ReauthenticationProof.password(secret),
                ReauthenticationProof.apple(credential),
                ChangePasswordRequest(currentPassword: secret, newPassword: secret),
                ResetPasswordRequest(token: secret, newPassword: secret),
                Registration(token: push.hexadecimal.value, environment: .sandbox, bundleId: "com.example.app"), push,
                credential, form, action as Any, LoginForm.Action.apple(.success(credential)), registrar, actions,
                PushRegistrar.Event.token(push),
                Optional(LoginRequest(identifier: "ada@example.com", password: secret)) as Any,
                ["login": LoginRequest(identifier: "ada@example.com", password: secret)],
            ])
    }

    @Test("A state shows the user's id and no address") func states() {
        let states: [Any] = [SessionState.signedIn(Sample.user), AppState.signedIn(Sample.user)]
        expectNoneShows(["ada@example.com", "Ada"], states)
        #expect(states.allSatisfy { "\($0)" == "signedIn(\(Sample.user.id))" })
        #expect("\(SessionState.signedOut(reason: .expired))" == "signedOut(expired)")
    }

    @Test("Values that are not printed are encoded and decoded unchanged") func json() throws {
        let login = LoginRequest(identifier: "ada@example.com", password: "open-sesame")
        let text = String(decoding: try ClientJSON.encode(login), as: UTF8.self)
        #expect(text == #"{"identifier":"ada@example.com","password":"open-sesame"}"#)
        #expect(try ClientJSON.decode(LoginRequest.self, from: Data(text.utf8)).password == "open-sesame")
    }

    @Test("A secret is itself again when it is written and read, and only there") func codable() throws {
        let secret = Redacted("open sesame")
        let data = try ClientJSON.encode(["secret": secret])
        #expect(try ClientJSON.decode([String: Redacted<String>].self, from: data)["secret"] == secret)
        #expect("\(secret)" == "<redacted>")
        #expect(Mirror(reflecting: secret).children.isEmpty)
    }

    private func expectNoneShows(_ secrets: [String], _ values: [Any]) {
        for value in values {
            for text in texts(of: value) {
                for secret in secrets { #expect(!text.contains(secret), "\(type(of: value))") }
            }
        }
    }

    private func texts(of value: Any) -> [String] {
        var dumped = ""
        dump(value, to: &dumped)
        return [
            String(describing: value), String(reflecting: value), "\(value)", dumped,
            "\(Mirror(reflecting: value).children.map { ($0.label ?? "", $0.value) })",
        ]
    }
}
