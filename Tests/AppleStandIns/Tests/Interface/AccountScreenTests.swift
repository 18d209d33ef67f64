import Foundation
import GatehouseContracts
import Testing

@testable import GatehouseClient
@testable import GatehouseUI

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Tests the models behind the account screen: the change of an address or number, the link to an Apple account, and
/// the merge of two accounts.
@MainActor
@Suite("The account screen's changes, links and merges")
struct AccountScreenTests {
    private let transport = FakeTransport()
    private let client: GatehouseClient
    private let prompt = ReauthenticationPrompt()

    private static let asked = CodeResponse(codeRequest: "request", expiresIn: 600, resendAfter: 30)
    private static let credential = AppleCredential(identityToken: "a.b.c", nonce: AppleNonce("nonce"))

    init() async throws {
        client = try GatehouseClient(
            configuration: GatehouseConfiguration(
                baseURL: try #require(URL(string: "https://api.example.com")), store: InMemoryTokenStore(),
                transport: transport, clock: ManualClock()))
        await transport.then(.json(Sample.auth("first")))
        try await client.signIn(identifier: "ada@example.com", password: "correct horse")
        prompt.appeared(UUID(), for: client)
    }

    private var requests: [URLRequest] { get async { Array(await transport.requests.dropFirst()) } }
    private var lines: [String] { get async { await requests.map(\.line) } }
    private var user: GatehouseClient.User? { get async { await client.session.state.user } }

    /// The signed-in user after a change.
    private func changed(_ change: (inout GatehouseClient.User) -> Void) -> GatehouseClient.User {
        var user = Sample.user
        change(&user)
        return user
    }

    /// The screen for a new address or number, after a code was sent to it.
    private func change(
        of kind: IdentifierKind, to identifier: String
    ) async throws -> TaskModel<CodeForm> {
        let client = client
        let model = TaskModel<CodeForm>(client: client, purpose: .verify, identifier: nil) {
            entry throws(GatehouseError) in
            try await client.changeIdentifier(kind, with: entry)
        }
        model.form.identifier = identifier
        await transport.then(.json(Self.asked))
        await model.run(try #require(model.form.submit()))
        model.code = "012345"
        return model
    }

    /// The screen for a merge by a code, after the code was sent.
    private func mergeByCode() async throws -> TaskModel<CodeForm> {
        let model = TaskModel<CodeForm>(client: client, purpose: .merge, identifier: nil, verify: client.merge)
        model.form.identifier = "ada@example.org"
        await transport.then(.json(Self.asked))
        await model.run(try #require(model.form.submit()))
        model.code = "012345"
        return model
    }

    // MARK: - Address and number

    @Test(
        "A new address or number is verified by a code, and replaces the former one",
        arguments: [(IdentifierKind.email, "ada@example.org"), (.phone, "+491701234567")])
    func changes(kind: IdentifierKind, identifier: String) async throws {
        let model = try await change(of: kind, to: " \(identifier) ")
        let new = changed { if kind == .email { $0.email = identifier } else { $0.phone = identifier } }
        await transport.then(.json(new))
        await model.run(try #require(model.form.submit()))
        #expect(model.isVerified && model.code == "")
        #expect(await user == new)
        #expect(await lines == ["POST /v1/auth/code", "PUT /v1/auth/identifiers/\(kind)"])
        let sent = try #require(await requests.last?.httpBody)
        let body = try ClientJSON.decode(ChangeIdentifierRequest.self, from: sent)
        #expect(body.identifier == identifier && body.code == "012345" && body.codeRequest == "request")
        #expect(await requests.first?.json?.contains(#""purpose":"verify""#) == true)
    }

    @Test("After a wrong code the user corrects it on the same screen")
    func wrongCode() async throws {
        let model = try await change(of: .email, to: "ada@example.org")
        await transport.then(.problem(.invalidCredentials))
        await model.run(try #require(model.form.submit()))
        #expect(model.form.task.error?.kind == .invalidCredentials && model.form.task.retryableAction == nil)
        #expect(model.failures == 1 && model.form.asked == Self.asked && model.code == "012345")
        #expect(await user == Sample.user)
        model.form.task.dismiss()
        model.code = "543210"
        let new = changed { $0.email = "ada@example.org" }
        await transport.then(.json(new))
        await model.run(try #require(model.form.submit()))
        #expect(model.isVerified)
        #expect(await user == new)
    }

    @Test("Another account's verified address is refused, and the user can enter another one")
    func taken() async throws {
        let model = try await change(of: .email, to: "eve@example.org")
        await transport.then(.problem(.identifierTaken))
        await model.run(try #require(model.form.submit()))
        #expect(model.form.task.error?.kind == .identifierTaken && model.form.task.retryableAction == nil)
        #expect(await user == Sample.user)
        model.form.task.dismiss()
        model.form.changeIdentifier()
        #expect(model.form.asked == nil && model.code == "")
    }

    @Test("A change that demands recent authentication is made after it, with the same code")
    func changesAfterAuthentication() async throws {
        let model = try await change(of: .email, to: "ada@example.org")
        await transport.then(.problem(.reauthenticationRequired))
        model.begin(model.form.submit())
        try await eventually("the sheet is shown") { prompt.request != nil }
        #expect(model.form.task.isWorking)
        let new = changed { $0.email = "ada@example.org" }
        await transport.then(.status(204), .json(Sample.auth("second")), .json(new))
        try await client.reauthenticate(with: .password("correct horse"))
        prompt.succeeded()
        try await eventually("changed") { model.isVerified }
        #expect(await user == new)
        let changes = await requests.filter { $0.line == "PUT /v1/auth/identifiers/email" }
        #expect(changes.count == 2 && changes.first?.json == changes.last?.json)
        #expect(changes.last?.bearer == "Bearer access-second")
    }

    @Test("A closed sheet cancels the change, which keeps the code and shows no error")
    func changeIsCancelled() async throws {
        let model = try await change(of: .phone, to: "+491701234567")
        await transport.then(.problem(.reauthenticationRequired))
        model.begin(model.form.submit())
        try await eventually("the sheet is shown") { prompt.request != nil }
        prompt.closed(try #require(prompt.request))
        try await eventually("cancelled") { !model.form.task.isWorking }
        #expect(model.form.task == .idle && !model.showsError && model.failures == 0)
        #expect(model.code == "012345" && model.form.asked == Self.asked)
        #expect(await user == Sample.user)
    }

    @Test("A change that no answer confirms can be retried")
    func changeIsRetried() async throws {
        let model = try await change(of: .email, to: "ada@example.org")
        await transport.then(.failure(.notConnectedToInternet))
        await model.run(try #require(model.form.submit()))
        let action = try #require(model.form.task.retryableAction)
        let new = changed { $0.email = "ada@example.org" }
        await transport.then(.json(new))
        await model.run(action)
        #expect(model.isVerified)
        #expect(await user == new)
    }

    // MARK: - Apple account

    @Test("An Apple account is linked with the credential and nonce of its dialog")
    func links() async throws {
        let model = TaskModel(apple: client.linkApple)
        let linked = changed { $0.authProviders = [.password, .apple] }
        await transport.then(.json(linked))
        await model.run(.success(Self.credential))
        #expect(model.form.task.isDone)
        #expect(await user == linked)
        #expect(await lines == ["POST /v1/auth/identities/apple"])
        #expect(await requests.last?.json == #"{"identityToken":"a.b.c","nonce":"nonce"}"#)
    }

    @Test(
        "An Apple account that is not linked leaves the user as before",
        arguments: [
            (ErrorCode.identifierTaken, GatehouseError.Kind.identifierTaken), (.invalidAppleToken, .invalidAppleToken),
        ])
    func linkIsRefused(code: ErrorCode, kind: GatehouseError.Kind) async throws {
        let model = TaskModel(apple: client.linkApple)
        await transport.then(.problem(code))
        await model.run(.success(Self.credential))
        #expect(model.form.task.error?.kind == kind && model.form.task.retryableAction == nil)
        #expect(await user == Sample.user)
    }

    @Test("A closed dialog links nothing and sends nothing")
    func linkIsCancelled() async throws {
        let model = TaskModel(apple: client.linkApple)
        await model.run(.failure(GatehouseError(.cancelled)))
        #expect(model.form.task == .idle && model.failures == 0)
        #expect(await lines.isEmpty)
    }

    @Test("A link that demands recent authentication fails if the user closes the sheet, and succeeds after it")
    func linksAfterAuthentication() async throws {
        let model = TaskModel(apple: client.linkApple)
        for isClosed in [true, false] {
            await transport.then(.problem(.reauthenticationRequired))
            model.begin(.success(Self.credential))
            try await eventually("the sheet is shown") { prompt.request != nil }
            guard isClosed else { continue }
            prompt.closed(try #require(prompt.request))
            try await eventually("cancelled") { model.form.task == .idle }
        }
        let linked = changed { $0.authProviders = [.password, .apple] }
        await transport.then(.status(204), .json(Sample.auth("second")), .json(linked))
        try await client.reauthenticate(with: .password("correct horse"))
        prompt.succeeded()
        try await eventually("linked") { model.form.task.isDone }
        #expect(await user == linked)
    }

    // MARK: - Merging

    @Test("A new address that another account had offers the merge, which the other account's password completes")
    func mergesByPassword() async throws {
        let change = try await change(of: .email, to: "ada@example.org")
        let mergeable = changed { ($0.email, $0.mergeableIdentifiers) = ("ada@example.org", [.email]) }
        await transport.then(.json(mergeable))
        await change.run(try #require(change.form.submit()))
        #expect(await user?.mergeableIdentifiers == [.email])

        let model = TaskModel(FieldForm([.password])) { [client] entry throws(GatehouseError) in
            try await client.merge(entry)
        }
        model.form.entry[.password] = "wrong horse"
        await transport.then(.problem(.invalidCredentials))
        await model.run(try #require(model.form.submit()))
        #expect(model.form.task.error?.kind == .invalidCredentials)
        #expect(await user == mergeable)

        model.form.task.dismiss()
        model.form.entry[.password] = "correct horse"
        let merged = changed { $0.email = "ada@example.org" }
        await transport.then(.json(MergeResponse(user: merged)))
        await model.run(try #require(model.form.submit()))
        #expect(model.form.task.isDone && model.form.entry[.password] == "")
        #expect(await user == merged)
        #expect(await requests.last?.json == #"{"password":"correct horse"}"#)
    }

    @Test("A sign-in that finds another account with the same address offers the merge once, and a code completes it")
    func offersMergeAfterSignIn() async throws {
        let session = AppSession(client)
        await session.start()
        try await eventually("signed in") { session.state == .signedIn(Sample.user) }
        #expect(session.mergeOffer == nil)
        await transport.then(.status(204))
        try await client.signOut()
        try await eventually("signed out") { session.state == .signedOut(reason: .user) }

        var auth = Sample.auth("apple")
        (auth.user.email, auth.conflictingIdentifiers) = (nil, [.email])
        await transport.then(.json(auth))
        try await client.signIn(with: Self.credential)
        try await eventually("offered") { session.mergeOffer?.kind == .email && session.mergeOffer?.id == auth.user.id }
        // The user closes the sheet, and changes the profile.
        session.mergeOffer = nil
        await transport.then(.json(changed { $0.displayName = "Countess" }))
        _ = try await client.me()
        try await eventually("changed") { session.state.description == AppState.signedIn(auth.user).description }
        #expect(session.mergeOffer == nil && client.conflictingIdentifiers(of: auth.user) == [.email])

        let model = TaskModel<CodeForm>(client: client, purpose: .merge, identifier: nil, verify: client.merge)
        model.form.identifier = "ada@example.com"
        await transport.then(.json(Self.asked))
        await model.run(try #require(model.form.submit()))
        model.code = "012345"
        await transport.then(.json(MergeResponse(user: Sample.user)))
        await model.run(try #require(model.form.submit()))
        #expect(model.isVerified)
        #expect(client.conflictingIdentifiers(of: auth.user) == [] && session.mergeOffer == nil)
    }

    @Test("A merge into the older account goes on with that account's session")
    func mergesIntoOlder() async throws {
        let model = TaskModel(apple: client.merge)
        var auth = Sample.auth("older")
        auth.user.id = UUID()
        await transport.then(.json(MergeResponse(user: auth.user, session: auth)), .status(204))
        await model.run(.success(Self.credential))
        #expect(model.form.task.isDone)
        #expect(await client.session.state == .signedIn(auth.user))
        try await eventually("the former session ends") { await lines.contains("POST /v1/auth/logout") }
        await transport.then(.json(auth.user))
        try await client.me()
        let request = try #require(await requests.last { $0.line == "GET /v1/auth/me" })
        #expect(request.bearer == "Bearer access-older")
        let sent = try #require(await requests.first { $0.line == "POST /v1/auth/merge" })
        #expect(sent.json == #"{"identityToken":"a.b.c","nonce":"nonce"}"#)
    }

    @Test("A merge by a code: wrong, then refused, then merged")
    func mergesByCode() async throws {
        let model = try await mergeByCode()
        #expect(await requests.last?.json?.contains(#""purpose":"merge""#) == true)
        for code in [ErrorCode.invalidCredentials, .forbidden] {
            await transport.then(.problem(code))
            await model.run(try #require(model.form.submit()))
            #expect(model.form.task.error?.code == code.rawValue && !model.isVerified)
            model.form.task.dismiss()
        }
        let merged = changed { $0.phone = "+491701234567" }
        await transport.then(.json(MergeResponse(user: merged)))
        await model.run(try #require(model.form.submit()))
        #expect(model.isVerified)
        #expect(await user == merged)
        let sent = try #require(await requests.last?.httpBody)
        let body = try ClientJSON.decode(MergeRequest.self, from: sent)
        #expect(body.code == "012345" && body.identifier == "ada@example.org" && body.codeRequest == "request")
    }

    @Test("A merge that demands recent authentication is made after it, and not if the user closes the sheet")
    func mergesAfterAuthentication() async throws {
        let model = try await mergeByCode()
        for isClosed in [true, false] {
            await transport.then(.problem(.reauthenticationRequired))
            model.begin(model.form.submit())
            try await eventually("the sheet is shown") { prompt.request != nil }
            guard isClosed else { continue }
            prompt.closed(try #require(prompt.request))
            try await eventually("cancelled") { model.form.task == .idle }
            #expect(model.code == "012345")
        }
        let merged = changed { $0.phone = "+491701234567" }
        await transport.then(.status(204), .json(Sample.auth("second")), .json(MergeResponse(user: merged)))
        try await client.reauthenticate(with: .password("correct horse"))
        prompt.succeeded()
        try await eventually("merged") { model.isVerified }
        #expect(await user == merged)
        #expect(await lines.filter { $0 == "POST /v1/auth/merge" }.count == 3)
    }
}
