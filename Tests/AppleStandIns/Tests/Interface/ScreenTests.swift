import Foundation
import GatehouseContracts
import Testing

@testable import GatehouseClient
@testable import GatehouseUI

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Tests how the screens' models perform their forms' actions. The forms' own tests are in the client's package.
@MainActor
@Suite("The requests of the screens")
struct ScreenTests {
    private let transport = FakeTransport()

    private func client(_ clock: ManualClock = ManualClock()) throws -> GatehouseClient {
        try GatehouseClient(
            configuration: GatehouseConfiguration(
                baseURL: try #require(URL(string: "https://api.example.com")), store: InMemoryTokenStore(),
                transport: transport, clock: clock))
    }

    private static let asked = CodeResponse(codeRequest: "request", expiresIn: 600, resendAfter: 30)

    @Test("A model performs one action at a time, and shows the error of a failed one")
    func oneAtATime() async throws {
        let client = try client()
        let model = TaskModel(FieldForm([.identifier]), perform: client.requestPasswordReset)
        model.form.entry[.identifier] = "ada@example.com"
        await transport.then(.failure(.notConnectedToInternet), .status(202))
        model.begin(model.form.submit())
        model.begin(model.form.submit())
        try await eventually("failed") { model.showsError }
        #expect(model.form.task.error?.kind == .offline && model.failures == 1)
        model.begin(model.form.task.retryableAction)
        #expect(!model.showsError && model.form.task.isWorking)
        try await eventually("sent") { !model.form.task.isWorking }
        #expect(model.form.task.error == nil)
        model.begin(nil)
        #expect(await transport.requests.count == 2)
    }

    @Test("A code: requested, requested again after the server's delay, and used to sign in")
    func code() async throws {
        // Not the client's, on which its deadlines wait too.
        let clock = ManualClock(hasty: false)
        let client = try client()
        let model = TaskModel<CodeForm>(client: client, purpose: .signIn, identifier: nil) {
            entry throws(GatehouseError) in
            _ = try await client.signIn(identifier: entry.identifier, code: entry.code.value, asked: entry.asked)
        }
        model.form.identifier = "ada@example.com"
        await transport.then(.json(Self.asked), .json(Self.asked), .json(Sample.auth("first")))
        model.begin(model.form.submit())
        try await eventually("sent") { model.form.asked != nil && !model.form.task.isWorking }
        #expect(model.form.resend() == nil && !model.isVerified)

        let waiting = Task { await model.allowResend(with: clock) }
        await clock.sleepers(1)
        clock.advance(by: .seconds(30))
        await waiting.value
        model.begin(model.form.resend())
        try await eventually("sent again") { !model.form.canResend && !model.form.task.isWorking }

        model.code = "012345"
        model.begin(model.form.submit())
        try await eventually("verified") { model.isVerified }
        #expect(await client.session.state.user == Sample.user)
        let requests = await transport.requests
        #expect(
            requests.map(\.line) == [
                "POST /v1/auth/code", "POST /v1/auth/code", "POST /v1/auth/code/verify",
            ])
        let body = try ClientJSON.decode(VerifyCodeRequest.self, from: try #require(requests.last?.httpBody))
        #expect(body.code == "012345" && body.codeRequest == "request" && body.identifier == "ada@example.com")
    }

    @Test("The link in the message signs in on the screen that requested it, and only once the message is sent")
    func codeLink() async throws {
        let client = try client()
        let link = URL(string: "https://shop.example.com/open#link-token")
        let model = TaskModel<CodeForm>(client: client, purpose: .signIn, identifier: nil) { _ in }
        model.form.identifier = "ada@example.com"
        model.open(link)
        #expect(model.form.task == .idle)
        await transport.then(.json(Self.asked), .json(Sample.auth("first")))
        await model.run(try #require(model.form.submit()))
        model.open(nil)
        model.open(URL(string: "https://shop.example.com/open"))
        model.open(link)
        try await eventually("verified") { model.isVerified }
        #expect(await client.session.state.user == Sample.user)
        let request = try #require(await transport.requests.last)
        let body = try ClientJSON.decode(VerifyCodeRequest.self, from: try #require(request.httpBody))
        #expect(request.line == "POST /v1/auth/code/verify" && body.code == nil)
        #expect(body.linkToken == "link-token" && body.codeRequest == "request")
    }

    @Test("Signing up signs in, and removes the password from the form")
    func registers() async throws {
        let client = try client()
        let model = TaskModel(FieldForm([.identifier, .newPassword]), perform: client.register)
        model.form.entry[.identifier] = "ada@example.com"
        model.form.entry[.newPassword] = "correct horse"
        await transport.then(.json(Sample.auth("first")))
        model.begin(model.form.submit())
        try await eventually("signed up") { model.form.entry[.newPassword] == "" }
        #expect(await client.session.state.user == Sample.user)
        let request = try #require(await transport.requests.first)
        let body = try ClientJSON.decode(RegisterRequest.self, from: try #require(request.httpBody))
        #expect(request.line == "POST /v1/auth/register")
        #expect(body.identifier == "ada@example.com" && body.password == "correct horse")
    }

    // MARK: - Reauthentication

    private func signedIn() async throws -> GatehouseClient {
        let client = try client()
        await transport.then(.json(Sample.auth("first")))
        try await client.signIn(identifier: "ada@example.com", password: "correct horse")
        return client
    }

    /// A prompt of a view that is on the screen.
    private func prompt(of client: GatehouseClient) -> ReauthenticationPrompt {
        let prompt = ReauthenticationPrompt()
        prompt.appeared(UUID(), for: client)
        return prompt
    }

    private var linesSinceSignIn: [String] { get async { await transport.requests.dropFirst().map(\.line) } }

    @Test("A user with only Apple deletes the account after Apple's dialog, without signing in anew")
    func deletesAfterApple() async throws {
        let client = try await signedIn()
        let prompt = prompt(of: client)
        let account = TaskModel(account: client)
        let apple = TaskModel(apple: client.reauthenticate)
        await transport.then(.problem(.reauthenticationRequired))
        account.begin(.delete)
        try await eventually("the sheet is shown") { prompt.request != nil }
        await transport.then(.status(204), .json(Sample.auth("second")))
        apple.begin(.success(AppleCredential(identityToken: "a.b.c", nonce: AppleNonce("nonce"))))
        try await eventually("authenticated") { apple.form.task.isDone }
        await transport.then(.status(202))
        prompt.succeeded()
        try await eventually("deleted") { account.form.task.isDone }
        #expect(await client.session.state == .signedOut(reason: .accountDeleted) && prompt.request == nil)
        #expect(
            await linesSinceSignIn == [
                "DELETE /v1/auth/account", "POST /v1/auth/reauthenticate", "POST /v1/auth/refresh",
                "DELETE /v1/auth/account",
            ])
    }

    @Test("A failure of Apple's dialog is shown, and a closed dialog is not")
    func appleFails() async throws {
        let client = try await signedIn()
        let apple = TaskModel(apple: client.reauthenticate)
        apple.begin(.failure(GatehouseError(.invalidAppleToken)))
        try await eventually("failed") { apple.showsError }
        apple.form.task.dismiss()
        apple.begin(.failure(GatehouseError(.cancelled)))
        try await eventually("cancelled") { !apple.form.task.isWorking }
        #expect(!apple.showsError && apple.failures == 1)
        #expect(await linesSinceSignIn.isEmpty)
    }

    @Test("After a wrong password the user corrects it on the same sheet, and the call is made once more")
    func correctsPassword() async throws {
        let client = try await signedIn()
        let prompt = prompt(of: client)
        let account = TaskModel(account: client)
        let password = TaskModel(FieldForm([.password]), perform: client.reauthenticate)
        await transport.then(.problem(.reauthenticationRequired), .problem(.invalidCredentials))
        account.begin(.unlinkApple)
        try await eventually("the sheet is shown") { prompt.request != nil }
        password.form.entry[.password] = "wrong horse"
        password.begin(password.form.submit())
        try await eventually("refused") { password.showsError }
        #expect(prompt.request != nil && account.form.task.isWorking)
        await transport.then(.status(204), .json(Sample.auth("second")), .json(Sample.user))
        password.form.entry[.password] = "correct horse"
        password.form.task.dismiss()
        password.begin(password.form.submit())
        try await eventually("authenticated") { password.form.task.isDone }
        prompt.succeeded()
        try await eventually("unlinked") { account.form.task.isDone }
        #expect(await linesSinceSignIn.filter { $0 == "DELETE /v1/auth/identities/apple" }.count == 2)
    }

    @Test("A user authenticates with a code that was sent for this")
    func authenticatesByCode() async throws {
        let client = try await signedIn()
        let prompt = prompt(of: client)
        let account = TaskModel(account: client)
        await transport.then(.problem(.reauthenticationRequired))
        account.begin(.delete)
        try await eventually("the sheet is shown") { prompt.request?.user == Sample.user }
        let code = TaskModel<CodeForm>(
            client: client, purpose: .stepUp, identifier: "ada@example.com", verify: client.reauthenticate)
        await transport.then(.json(Self.asked), .status(204), .json(Sample.auth("second")), .status(202))
        await code.run(.request(identifier: "ada@example.com"))
        code.code = "012345"
        await code.run(try #require(code.form.submit()))
        prompt.succeeded()
        try await eventually("deleted") { account.form.task.isDone }
        #expect(await transport.requests.dropFirst(2).first?.json?.contains("stepUp") == true)
        #expect(
            await linesSinceSignIn == [
                "DELETE /v1/auth/account", "POST /v1/auth/code", "POST /v1/auth/code/verify", "POST /v1/auth/refresh",
                "DELETE /v1/auth/account",
            ])
    }

    @Test("The view that appeared last shows the sheet, and without a view the call fails")
    func presenters() async throws {
        let client = try await signedIn()
        let prompt = ReauthenticationPrompt()
        let (gate, sheet) = (UUID(), UUID())
        prompt.appeared(gate, for: client)
        prompt.appeared(sheet, for: client)
        for presenter in [sheet, gate] {
            await transport.then(.problem(.reauthenticationRequired))
            let deletion = Task { try await client.deleteAccount() }
            try await eventually("the sheet is shown") { prompt.request != nil }
            #expect(prompt.request?.presenter == presenter)
            prompt.closed(try #require(prompt.request))
            await #expect { try await deletion.value } throws: { ($0 as? GatehouseError)?.kind == .cancelled }
            prompt.disappeared(presenter)
        }
        await transport.then(.problem(.reauthenticationRequired))
        let error = await #expect(throws: GatehouseError.self) { try await client.deleteAccount() }
        #expect(error?.kind == .reauthenticationRequired && prompt.request == nil)
    }

    @Test("A user without a credential for the sheet gets the error, not an empty sheet")
    func noMethod() async throws {
        let prompt = prompt(of: try client())
        var user = Sample.user
        (user.authProviders, user.emailVerified, user.phoneVerified) = ([], false, false)
        let error = await #expect(throws: GatehouseError.self) { try await prompt.authenticate(user) }
        #expect(error?.kind == .reauthenticationRequired && prompt.request == nil)
    }

    @Test("One authentication serves all calls, and a cancelled call leaves the sheet to the others")
    func sharesTheSheet() async throws {
        let prompt = prompt(of: try client())
        let first = Task { try await prompt.authenticate(Sample.user) }
        try await eventually("the sheet is shown") { prompt.request != nil }
        let request = prompt.request
        let others = (0..<2).map { _ in Task { try await prompt.authenticate(Sample.user) } }
        try await eventually("all calls wait") { prompt.waiting.count == 3 }
        first.cancel()
        await #expect(throws: CancellationError.self) { try await first.value }
        #expect(prompt.request == request)
        prompt.succeeded()
        for other in others { try await other.value }
        #expect(prompt.request == nil)
    }

    @Test("A closed sheet cancels the call, and its disappearance does not cancel the next one")
    func closes() async throws {
        let client = try await signedIn()
        let prompt = prompt(of: client)
        let account = TaskModel(account: client)
        await transport.then(.problem(.reauthenticationRequired), .problem(.reauthenticationRequired))
        account.begin(.delete)
        try await eventually("the sheet is shown") { prompt.request != nil }
        let first = try #require(prompt.request)
        prompt.closed(first)
        try await eventually("cancelled") { account.form.task == .idle }
        account.begin(.delete)
        try await eventually("another sheet is shown") { prompt.request != nil }
        prompt.closed(first)
        #expect(prompt.request != nil && account.form.task.isWorking)
        prompt.closed(try #require(prompt.request))
        try await eventually("cancelled again") { account.form.task == .idle }
        #expect(await client.session.state == .signedIn(Sample.user))
    }

    // MARK: - Sessions and account

    @Test("Sessions: loaded, one ended, all others ended")
    func sessions() async throws {
        let client = try await signedIn()
        let list = (0..<4).map { number in
            SessionInfo(
                id: UUID(), current: number == 0, createdAt: Sample.user.createdAt,
                lastUsedAt: Sample.user.createdAt + Double(number), expiresAt: Sample.user.createdAt)
        }
        let model = TaskModel(sessionsOf: client)
        await transport.then(.json(SessionList(sessions: list)), .status(204), .status(204))
        await model.run(.load)
        #expect(model.form.sessions == [list[0], list[3], list[2], list[1]])
        await model.run(.end(list[2]))
        #expect(model.form.sessions == [list[0], list[3], list[1]])
        await model.run(.endOthers)
        #expect(model.form.sessions == [list[0]])
        #expect(
            await linesSinceSignIn == [
                "GET /v1/auth/sessions", "DELETE /v1/auth/sessions/\(list[2].id.uuidString.lowercased())",
                "POST /v1/auth/logout-all",
            ])
        #expect(await client.session.state == .signedIn(Sample.user))
    }

    @Test("The removal of a number, and a first password")
    func account() async throws {
        let client = try await signedIn()
        let account = TaskModel(account: client)
        var user = Sample.user
        user.phone = nil
        await transport.then(.json(user))
        await account.run(.remove(.phone))
        #expect(account.form.task == .done(.remove(.phone)))
        user.authProviders = [.apple, .password]
        await transport.then(.status(204), .json(user))
        var password = FieldForm.Entry()
        password[.newPassword] = "correct horse"
        try await client.changePassword(with: password)
        #expect(await client.session.state.user?.authProviders == [.apple, .password])
        #expect(
            await linesSinceSignIn == [
                "DELETE /v1/auth/identifiers/phone", "POST /v1/auth/password", "GET /v1/auth/me",
            ])
    }
}
