import AuthenticationServices
import Foundation
import SwiftUI
import Testing

@testable import GatehouseClient
@testable import GatehouseUI

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

@MainActor
@Suite("The sign-in screen", .serialized)
struct LoginViewTests {
    private func screen(
        _ replies: FakeTransport.Reply..., locale: String = "en", options: LoginView.Options = .init()
    ) async throws -> (ViewHost, FakeTransport, GatehouseClient) {
        let transport = FakeTransport()
        for reply in replies { await transport.then(reply) }
        let client = try GatehouseClient(
            configuration: GatehouseConfiguration(
                baseURL: try #require(URL(string: "https://api.example.com")), store: InMemoryTokenStore(),
                transport: transport, clock: ManualClock()))
        let host = ViewHost(LoginView(client: client, options: options))
        host.environment.locale = Locale(identifier: locale)
        return (host, transport, client)
    }

    private func fill(_ host: ViewHost, password: String = "correct horse") throws {
        try #require(host.find("gatehouse.login.identifier")).type?("ada@example.com")
        try #require(host.find("gatehouse.login.password")).type?(password)
    }

    private func tap(_ host: ViewHost, _ identifier: String) throws {
        let node = try #require(host.find(identifier))
        try #require(!node.isDisabled)
        node.tap?()
    }

    @Test("Signs in with what was typed, and shows that it works meanwhile")
    func signsIn() async throws {
        let (host, transport, client) = try await screen(.json(Sample.auth("first")))
        try fill(host)
        #expect(host.find("gatehouse.login.progress") == nil)
        try tap(host, "gatehouse.login.submit")
        #expect(host.find("gatehouse.login.progress")?.label == "Signing in…")
        for part in ["identifier", "password", "submit", "forgot", "apple"] {
            #expect(host.find("gatehouse.login.\(part)")?.isDisabled == true)
        }
        try await eventually("signed in") { await client.session.state.user != nil }
        try await eventually("no longer at work") { host.find("gatehouse.login.progress") == nil }
        let request = try #require(await transport.requests.first)
        #expect(request.line == "POST /v1/auth/login")
        #expect(request.json?.contains("correct horse") == true)
        #expect(host.find("gatehouse.login.password")?.text == "")
    }

    @Test("A wrong password: an alert with a sentence and without another try")
    func wrongPassword() async throws {
        let (host, _, client) = try await screen(.problem(.invalidCredentials))
        try fill(host)
        try #require(host.find("gatehouse.login.password")).submit?()
        try await eventually("the alert") { host.find("gatehouse.login.dismiss") != nil }
        #expect(host.find("gatehouse.login.tryAgain") == nil)
        #expect(host.texts.contains(GatehouseError(.invalidCredentials, code: "INVALID_CREDENTIALS").message(in: "en")))
        try tap(host, "gatehouse.login.dismiss")
        #expect(host.find("gatehouse.login.dismiss") == nil)
        #expect(host.find("gatehouse.login.identifier")?.text == "ada@example.com")
        #expect(await client.session.state.user == nil)
    }

    @Test("Without the server: Try Again sends the same once more")
    func triesAgain() async throws {
        let (host, transport, client) = try await screen(.problem(.internal))
        try fill(host)
        try tap(host, "gatehouse.login.submit")
        try await eventually("the alert") { host.find("gatehouse.login.tryAgain") != nil }
        await transport.then(.json(Sample.auth("first")))
        try tap(host, "gatehouse.login.tryAgain")
        try await eventually("signed in") { await client.session.state.user != nil }
        let bodies = await transport.requests.map(\.json)
        #expect(bodies.count >= 2 && Set(bodies).count == 1)
    }

    @Test("What is missing is said under its field, and nothing is sent")
    func faults() async throws {
        let (host, transport, _) = try await screen()
        try tap(host, "gatehouse.login.submit")
        #expect(host.texts.contains("Please enter your password."))
        try fill(host, password: "short")
        #expect(
            host.find("gatehouse.login.fault.passwordTooShort")?.text == "The password has at least 8 characters.")
        #expect(host.find("gatehouse.login.fault.identifierMissing") == nil)
        try fill(host)
        #expect(host.look().allSatisfy { $0.identifier?.hasPrefix("gatehouse.login.fault") != true })
        #expect(await transport.requests.isEmpty)
    }

    @Test("Whoever uses VoiceOver hears what is missing, and is led to the first field of it")
    func faultsAreHeard() async throws {
        // In a language of its own: what other tests are told is said in English.
        let (host, _, _) = try await screen(locale: "ar")
        let (who, password) = (
            InterfaceText.identifierMissing.text(in: "ar"), InterfaceText.passwordMissing.text(in: "ar")
        )
        try tap(host, "gatehouse.login.submit")
        #expect(announcements.filter { $0 == "\(who) \(password)" }.count == 1)
        #expect(host.find("gatehouse.login.identifier")?.isFocused == true)
        #expect(host.find("gatehouse.login.identifier")?.hint == who)
        #expect(host.find("gatehouse.login.password")?.hint == password)

        try fill(host, password: "short")
        try tap(host, "gatehouse.login.submit")
        let short = InterfaceText.passwordTooShort.text(in: "ar", number: 8)
        #expect(announcements.last { $0.contains(short) } == short)
        #expect(host.find("gatehouse.login.identifier")?.isFocused == false)
        #expect(host.find("gatehouse.login.password")?.isFocused == true)
        #expect(host.find("gatehouse.login.identifier")?.hint == "")
        #expect(host.find("gatehouse.login.password")?.hint == short)
    }

    @Test("A screen that an app keeps after a sign-in signs in again")
    func survives() async throws {
        let (host, transport, client) = try await screen(
            .json(Sample.auth("first")), .status(204), .json(Sample.auth("second")))
        try fill(host)
        try tap(host, "gatehouse.login.submit")
        try await eventually("signed in") { await client.session.state.user != nil }
        try await eventually("no longer at work") { host.find("gatehouse.login.progress") == nil }
        try await client.signOut()
        try fill(host)
        #expect(host.find("gatehouse.login.password")?.text == "correct horse")
        try tap(host, "gatehouse.login.submit")
        try await eventually("signed in again") { await client.session.state.user != nil }
        #expect(await transport.requests.map(\.line).filter { $0 == "POST /v1/auth/login" }.count == 2)
    }

    @Test("A forgotten password is asked for, and the user told where to look")
    func forgotten() async throws {
        let (host, transport, _) = try await screen(.status(202))
        try fill(host)
        try tap(host, "gatehouse.login.forgot")
        try await eventually("the alert") { host.find("gatehouse.login.resetDismiss") != nil }
        #expect(await transport.requests.map(\.line) == ["POST /v1/auth/password/forgot"])
        try tap(host, "gatehouse.login.resetDismiss")
        #expect(host.find("gatehouse.login.resetDismiss") == nil)
    }

    @Test("With Apple: the dialog's credential goes to the server with the nonce of its request")
    func apple() async throws {
        let (host, transport, client) = try await screen(.json(Sample.auth("first")))
        var nonce: String?
        SimulatedAppleDialog.answer = { request in
            nonce = request.nonce
            var name = PersonNameComponents()
            name.givenName = "Ada"
            return .success(
                ASAuthorization(
                    simulated: ASAuthorizationAppleIDCredential(
                        simulated: "apple-ada", identityToken: Data("a.b.c".utf8), authorizationCode: Data("code".utf8),
                        fullName: name)))
        }
        try tap(host, "gatehouse.login.apple")
        try await eventually("signed in") { await client.session.state.user != nil }
        let request = try #require(await transport.requests.first)
        let body = try JSON.decode(AppleSignInRequest.self, from: try #require(request.httpBody))
        #expect(request.line == "POST /v1/auth/apple" && body.identityToken == "a.b.c")
        #expect(body.authorizationCode == "code" && body.fullName?.givenName == "Ada")
        #expect(body.nonce == nonce && (nonce?.count ?? 0) >= 32)
    }

    @Test("Apple's dialog: closing it is no error, another failure is one, and so is a credential without a token")
    func appleFails() async throws {
        let (host, transport, _) = try await screen()
        SimulatedAppleDialog.answer = { _ in .failure(ASAuthorizationError(.canceled)) }
        try tap(host, "gatehouse.login.apple")
        #expect(host.find("gatehouse.login.dismiss") == nil)
        for failure in [
            Result<ASAuthorization, any Error>.failure(ASAuthorizationError(.failed)),
            .success(ASAuthorization(simulated: ASAuthorizationAppleIDCredential(simulated: "apple-ada"))),
        ] {
            SimulatedAppleDialog.answer = { _ in failure }
            try tap(host, "gatehouse.login.apple")
            #expect(host.find("gatehouse.login.tryAgain") == nil)
            try tap(host, "gatehouse.login.dismiss")
        }
        #expect(await transport.requests.isEmpty)
    }

    @Test(
        "Every part that is touched has a label and an identifier, in each language",
        arguments: ["en", "he", "ru", "ar"])
    func accessibility(language: String) async throws {
        let (host, _, _) = try await screen(locale: language)
        let parts = host.look().filter { $0.tap != nil || $0.type != nil }
        #expect(parts.count == 5)
        for part in parts {
            #expect(part.identifier?.hasPrefix("gatehouse.login.") == true)
            #expect((part.label ?? part.text)?.isEmpty == false)
        }
        #expect(host.texts.contains(InterfaceText.loginTitle.text(in: language)))
    }

    @Test("Apple's button is black by day and white by night")
    func colours() async throws {
        let (host, _, _) = try await screen()
        #expect(host.find("gatehouse.login.apple")?.style == "black")
        host.environment.colorScheme = .dark
        #expect(host.find("gatehouse.login.apple")?.style == "white")
    }

    @Test("An app offers what it likes")
    func options() async throws {
        let (host, _, _) = try await screen(options: .init(offersApple: false))
        #expect(host.find("gatehouse.login.apple") == nil && host.find("gatehouse.login.submit") != nil)
        let (apple, _, _) = try await screen(options: .init(offersPassword: false))
        #expect(apple.find("gatehouse.login.apple") != nil && apple.find("gatehouse.login.submit") == nil)
    }
}
