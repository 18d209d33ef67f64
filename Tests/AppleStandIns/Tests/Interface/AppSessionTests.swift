import AuthenticationServices
import Foundation
import GatehouseContracts
import Security
import SwiftUI
import Testing

@testable import GatehouseClient
@testable import GatehouseUI

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Tests the states of an app's session. The gate shows one screen for each state.
@MainActor
@Suite("An app's session")
struct AppSessionTests {
    private let center = NotificationCenter()
    private let clock = ManualClock()

    private func session(
        _ store: any TokenStore = InMemoryTokenStore(), _ transport: FakeTransport = FakeTransport(),
        lockDelay: Duration = .seconds(300), obstacle: UnlockObstacle? = nil, isInBackground: Bool = false
    ) throws -> AppSession {
        AppSession(
            try .sample(store, transport, clock), lockDelay: lockDelay, obstacle: { obstacle }, center: center,
            isInBackground: { isInBackground })
    }

    /// A session behind Face ID that the user has unlocked.
    private func unlocked(
        _ bench: KeychainBench, _ transport: FakeTransport = FakeTransport(.json(Sample.user)),
        lockDelay: Duration = .seconds(300)
    ) async throws -> AppSession {
        try await stored(bench.store(lock: .biometrics))
        let session = try session(bench.store(lock: .biometrics), transport, lockDelay: lockDelay)
        await session.start()
        try await session.unlock(reason: "the orders")
        try await eventually("signed in") { session.state == .signedIn(Sample.user) }
        return session
    }

    private func stored(_ store: any TokenStore) async throws {
        try await GatehouseClient.sample(store, FakeTransport(.json(Sample.auth("first"))))
            .signIn(identifier: "ada@example.com", password: "correct horse")
    }

    @Test("Signing in and out, and a session that the server ends")
    func signsInAndOut() async throws {
        let transport = FakeTransport(.json(Sample.auth("first")), .status(204), .json(Sample.auth("second")))
        let session = try session(InMemoryTokenStore(), transport)
        #expect(session.state == .launching)
        await session.start()
        try await eventually("signed out") { session.state == .signedOut(reason: nil) }
        try await session.client.signIn(identifier: "ada@example.com", password: "correct horse")
        try await eventually("signed in") { session.state == .signedIn(Sample.user) }
        try await session.client.signOut()
        try await eventually("signed out by the user") { session.state == .signedOut(reason: .user) }
        try await session.client.signIn(identifier: "ada@example.com", password: "correct horse")
        try await eventually("signed in again") { session.state == .signedIn(Sample.user) }
        await transport.then(.problem(.invalidRefreshToken))
        let token = try await session.client.session.accessToken()
        await #expect(throws: GatehouseError.self) { try await session.client.session.accessToken(after: token) }
        try await eventually("ended by the server") { session.state == .signedOut(reason: .endedByServer) }
    }

    @Test("An extension has signed out: the app shows it when it comes to the foreground")
    func extensionSignsOut() async throws {
        let store = InMemoryTokenStore()
        try await stored(store)
        let session = try session(store, FakeTransport(.json(Sample.user)))
        await session.start()
        try await eventually("signed in") { session.state == .signedIn(Sample.user) }
        try await GatehouseClient.sample(store, FakeTransport(.status(204))).signOut()
        await session.start()
        try await eventually("signed out") { session.state == .signedOut(reason: .otherProcess) }
    }

    @Test("A store that fails: the error is kept until a later start succeeds")
    func storeFails() async throws {
        let bench = KeychainBench()
        defer { bench.remove() }
        try await stored(bench.store())
        bench.device.fail("SecItemCopyMatching", with: errSecNotAvailable)
        let session = try session(bench.store(), FakeTransport(.json(Sample.user)))
        await session.start()
        #expect(session.launchError != nil && session.state == .launching)
        bench.device.fail("SecItemCopyMatching", with: nil)
        await session.start()
        #expect(session.launchError == nil)
        try await eventually("signed in") { session.state == .signedIn(Sample.user) }
    }

    @Test(
        "Started before the device was unlocked: launching without an error, and signed in when the system reports it",
        arguments: [true, false])
    func prewarmed(isActive: Bool) async throws {
        let bench = KeychainBench()
        defer { bench.remove() }
        try await stored(bench.store())
        bench.device.lock = .beforeFirstUnlock
        let session = try session(bench.store(), FakeTransport(.json(Sample.user)))
        await session.start()
        #expect(await session.client.session.state == .locked(.device))
        #expect(session.launchError == nil && session.state == .launching)
        bench.device.lock = .unlocked
        if isActive { center.becomeActive() } else { center.unlockDevice() }
        try await eventually("signed in") { session.state == .signedIn(Sample.user) }
    }

    @Test("On return from the background the session is verified")
    func returns() async throws {
        let transport = FakeTransport(.json(Sample.auth("first")), .json(Sample.user), .json(Sample.user))
        let session = try session(InMemoryTokenStore(), transport)
        try await session.client.signIn(identifier: "ada@example.com", password: "correct horse")
        await session.start()
        try await eventually("signed in") { session.state == .signedIn(Sample.user) }
        center.enterBackground()
        center.becomeActive()
        try await eventually("verified") { await transport.requests.count == 2 }
        clock.advance(by: .seconds(60))
        center.enterBackground()
        center.becomeActive()
        try await eventually("verified again") { await transport.requests.count == 3 }
        #expect(await transport.requests.dropFirst().map(\.line) == ["GET /v1/auth/me", "GET /v1/auth/me"])
    }

    @Test("Behind Face ID: the content is covered while the app is inactive, and after five minutes away it is locked")
    func locksAgain() async throws {
        let bench = KeychainBench()
        defer { bench.remove() }
        let session = try await unlocked(bench)
        #expect(!session.isCovered)
        center.resignActive()
        #expect(session.isCovered)
        center.becomeActive()
        #expect(!session.isCovered)

        center.enterBackground()
        clock.advance(by: .seconds(299))
        center.becomeActive()
        #expect(!session.isCovered && session.state == .signedIn(Sample.user))

        center.enterBackground()
        clock.advance(by: .seconds(300))
        center.becomeActive()
        // Until the session is locked, the cover stays.
        #expect(session.isCovered)
        try await eventually("locked") { session.state == .needsUnlock }
        #expect(!session.isCovered && !session.life.hidesProtectedContent)
        #expect(bench.device.prompts.count == 1)
        let error = await #expect(throws: GatehouseError.self) { try await session.client.session.accessToken() }
        #expect(error?.kind == .locked)
        try await session.unlock(reason: "the orders")
        try await eventually("signed in again") { session.state == .signedIn(Sample.user) }
        #expect(bench.device.prompts.count == 2)
    }

    @Test("While the session is locked the content stays below the unlock screen, for the same user")
    func keepsContent() async throws {
        let bench = KeychainBench()
        defer { bench.remove() }
        let session = try await unlocked(bench, lockDelay: .zero)
        #expect(session.isAuthenticated && session.overlay == nil && session.currentUser == Sample.user)
        session.mergeOffer = nil
        center.resignActive()
        #expect(session.overlay == .cover)
        center.enterBackground()
        try await eventually("locked") { session.state == .needsUnlock }
        #expect(session.overlay == .unlock && session.currentUser == Sample.user && !session.isAuthenticated)
        center.becomeActive()
        #expect(session.overlay == .unlock)
        try await session.unlock(reason: "the orders")
        try await eventually("unlocked") { session.overlay == nil }
        #expect(session.isAuthenticated && session.currentUser == Sample.user)

        center.enterBackground()
        try await eventually("locked again") { session.state == .needsUnlock }
        try await session.client.signOut()
        try await eventually("signed out") { session.state == .signedOut(reason: .user) }
        #expect(session.overlay == nil && session.currentUser == nil && !session.isAuthenticated)
    }

    @Test("A call that waits for recent authentication waits while the session is locked, and for no other user")
    func promptSurvivesLock() async throws {
        let bench = KeychainBench()
        defer { bench.remove() }
        let session = try await unlocked(bench, lockDelay: .zero)
        session.prompt.appeared(UUID(), for: session.client)
        let waiting = Task { try await session.prompt.authenticate(Sample.user) }
        try await eventually("the sheet is shown") { session.prompt.request != nil }
        center.enterBackground()
        try await eventually("locked") { session.state == .needsUnlock }
        #expect(session.prompt.request != nil)
        try await session.client.signOut()
        await #expect(throws: CancellationError.self) { try await waiting.value }
    }

    @Test("A locked session of an earlier launch has no content")
    func noContentAtLaunch() async throws {
        let bench = KeychainBench()
        defer { bench.remove() }
        try await stored(bench.store(lock: .biometrics))
        let session = try session(bench.store(lock: .biometrics))
        await session.start()
        try await eventually("locked") { session.state == .needsUnlock }
        #expect(session.currentUser == nil && session.overlay == nil)
    }

    @Test("Launched in the background: the unlock screen waits for the app's activation")
    func launchedInBackground() async throws {
        let bench = KeychainBench()
        defer { bench.remove() }
        try await stored(bench.store(lock: .biometrics))
        let session = try session(bench.store(lock: .biometrics), isInBackground: true)
        await session.start()
        try await eventually("locked") { session.state == .needsUnlock }
        // The unlock screen opens the dialog whenever this becomes false.
        #expect(session.life.isInBackground)
        center.becomeActive()
        #expect(!session.life.isInBackground)
    }

    @Test(
        "A phone without enrolment signs in and says so once; one with an enrolment says nothing",
        arguments: [true, false])
    func lacksLock(isEnrolled: Bool) async throws {
        let bench = KeychainBench()
        defer { bench.remove() }
        if !isEnrolled { bench.device.removePasscode() }
        let session = try session(
            bench.store(lock: .biometricsOrPasscode), FakeTransport(.json(Sample.auth("first")), .json(Sample.user)))
        await session.start()
        try await eventually("signed out") { session.state == .signedOut(reason: nil) }
        try await session.client.signIn(identifier: "ada@example.com", password: "correct horse")
        try await eventually("signed in") { session.isAuthenticated }
        #expect(session.lacksLock != isEnrolled && session.client.session.isProtected == isEnrolled)
        let next = try self.session(bench.store(lock: .biometricsOrPasscode), FakeTransport(.json(Sample.user)))
        await next.start()
        if isEnrolled { try await next.unlock(reason: "r") }
        try await eventually("restored") { next.isAuthenticated }
        #expect(!next.lacksLock)
    }

    @Test("The message about the missing lock waits until the merge offer is closed")
    func lacksLockAfterOffer() async throws {
        let bench = KeychainBench()
        defer { bench.remove() }
        bench.device.removePasscode()
        var auth = Sample.auth("apple")
        (auth.user.email, auth.conflictingIdentifiers) = (nil, [.email])
        let session = try session(bench.store(lock: .biometrics), FakeTransport(.json(auth)))
        await session.start()
        try await eventually("signed out") { session.state == .signedOut(reason: nil) }
        try await session.client.signIn(with: AppleCredential(identityToken: "a.b.c", nonce: AppleNonce("nonce")))
        try await eventually("offered") { session.mergeOffer != nil }
        #expect(!session.lacksLock)
        session.mergeOffer = nil
        #expect(!session.lacksLock)
        session.mergeOfferClosed()
        #expect(session.lacksLock)
        session.lacksLock = false
        session.mergeOfferClosed()
        #expect(!session.lacksLock)
    }

    @Test("A policy that was changed elsewhere is read at the next start, and with the next change of the session")
    func policyChangesElsewhere() async throws {
        let bench = KeychainBench()
        defer { bench.remove() }
        let session = try session(bench.store(), FakeTransport(.json(Sample.auth("first"))))
        try await bench.store().setUnlockPolicy(.biometrics)
        await session.start()
        #expect(session.unlockPolicy == .biometrics)
        try await eventually("signed out") { session.state == .signedOut(reason: nil) }
        try await bench.store().setUnlockPolicy(.biometricsOrPasscode)
        try await session.client.signIn(identifier: "ada@example.com", password: "correct horse")
        try await eventually("signed in") { session.isAuthenticated }
        #expect(session.unlockPolicy == .biometricsOrPasscode)
    }

    @Test("The lock is switched on and off while the app runs, and later launches keep it")
    func switchesLock() async throws {
        let bench = KeychainBench()
        defer { bench.remove() }
        try await stored(bench.store())
        let session = try session(bench.store(), FakeTransport(.json(Sample.user)))
        await session.start()
        try await eventually("signed in") { session.isAuthenticated }
        bench.device.user(answers: .cancelled)
        let model = TaskModel(unlockPolicyOf: session)
        await model.run(.biometricsOrPasscode)
        #expect(model.form.task == .idle && session.unlockPolicy == .notRequired)
        await model.run(.biometricsOrPasscode)
        #expect(session.unlockPolicy == .biometricsOrPasscode && session.client.session.isProtected)
        #expect(try self.session(bench.store()).unlockPolicy == .biometricsOrPasscode)
        center.resignActive()
        #expect(session.overlay == .cover)
        center.becomeActive()

        await model.run(.notRequired)
        #expect(session.unlockPolicy == .notRequired && !session.client.session.isProtected)
        center.resignActive()
        #expect(session.overlay == nil)
    }

    @Test("A phone without enrolment cannot switch the lock on, and the error says why")
    func cannotSwitchLock() async throws {
        let bench = KeychainBench()
        defer { bench.remove() }
        bench.device.removePasscode()
        try await stored(bench.store())
        let session = try session(bench.store(), FakeTransport(.json(Sample.user)))
        await session.start()
        try await eventually("signed in") { session.isAuthenticated }
        let model = TaskModel(unlockPolicyOf: session)
        await model.run(.biometrics)
        #expect(model.form.task.error?.kind == .unlockUnavailable && session.unlockPolicy == .notRequired)
    }

    @Test("Behind Face ID without a delay: the session is locked as soon as the app is in the background")
    func locksAtOnce() async throws {
        let bench = KeychainBench()
        defer { bench.remove() }
        let session = try await unlocked(bench, lockDelay: .zero)
        center.enterBackground()
        try await eventually("locked") { session.state == .needsUnlock }
        #expect(session.life.isInBackground)
        center.becomeActive()
        #expect(!session.life.isInBackground)
    }

    @Test("A session that needs no Face ID is neither covered nor locked")
    func staysOpen() async throws {
        let bench = KeychainBench()
        defer { bench.remove() }
        try await stored(bench.store())
        let session = try session(bench.store(), FakeTransport(.json(Sample.user), .json(Sample.user)))
        await session.start()
        try await eventually("signed in") { session.state == .signedIn(Sample.user) }
        center.enterBackground()
        #expect(!session.isCovered)
        clock.advance(by: .seconds(3000))
        center.becomeActive()
        await session.client.session.lock()
        #expect(await session.client.session.state == .signedIn(Sample.user))
    }

    @Test("The unlock screen stays after a cancel, and leads to the sign-in after an unrecognized face")
    func unlockScreen() async throws {
        let bench = KeychainBench()
        defer { bench.remove() }
        try await stored(bench.store(lock: .biometrics))
        bench.device.user(answers: .cancelled, .notRecognized)
        let session = try session(bench.store(lock: .biometrics), FakeTransport(.json(Sample.user)))
        await session.start()
        let (model, locale) = (UnlockModel(session: session), Locale(identifier: "en"))
        await model.unlock(locale: locale)
        #expect(!model.signsIn && model.message == nil)
        await model.unlock(locale: locale)
        #expect(model.signsIn && model.message == nil)
        model.signsIn = false
        await model.unlock(locale: locale)
        try await eventually("signed in") { session.state == .signedIn(Sample.user) }
    }

    @Test("The unlock screen of a device that accepts no face names the reason, and does not sign in by itself")
    func lockedOut() async throws {
        let bench = KeychainBench()
        defer { bench.remove() }
        try await stored(bench.store(lock: .biometrics))
        bench.device.user(answers: .notRecognized)
        let session = try session(bench.store(lock: .biometrics), obstacle: .lockedOut)
        await session.start()
        let (model, locale) = (UnlockModel(session: session), Locale(identifier: "en"))
        await model.unlock(locale: locale)
        #expect(!model.signsIn && model.message == InterfaceText.lockedOut.text(in: "en"))
    }

    @Test("Behind Face ID: each attempt shows the dialog once, and one that fails leaves the session locked")
    func unlocks() async throws {
        let bench = KeychainBench()
        defer { bench.remove() }
        try await stored(bench.store(lock: .biometrics))
        bench.device.user(answers: .cancelled, .notRecognized)
        let session = try session(bench.store(lock: .biometrics), FakeTransport(.json(Sample.user)))
        await session.start()
        try await eventually("locked") { session.state == .needsUnlock }
        #expect(session.launchError == nil)
        for _ in 0..<2 {
            let error = await #expect(throws: GatehouseError.self) { try await session.unlock(reason: "the orders") }
            #expect(error?.kind == .locked)
        }
        #expect(session.state == .needsUnlock)
        try await session.unlock(reason: "the orders")
        try await eventually("signed in") { session.state == .signedIn(Sample.user) }
        #expect(bench.device.prompts == ["the orders", "the orders", "the orders"])
    }

    @Test("Behind Face ID: after another finger was added the session is unreadable")
    func enrolmentChanged() async throws {
        let bench = KeychainBench()
        defer { bench.remove() }
        try await stored(bench.store(lock: .biometrics))
        bench.device.changeBiometrics()
        let session = try session(bench.store(lock: .biometrics))
        await session.start()
        try? await session.unlock(reason: "the orders")
        try await eventually("signed out") { session.state == .signedOut(reason: .storeCorrupt) }
    }

    @Test("A demo has a user and no server")
    func demo() async throws {
        let session = AppSession.demo()
        // A preview draws its first picture before any task has run.
        #expect(session.isAuthenticated && session.currentUser?.displayName == "Demo")
        await session.start()
        #expect(await session.client.session.expiry != nil)
        try await eventually("signed in") {
            if case .signedIn(let user) = session.state { user.displayName == "Demo" } else { false }
        }
        let out = AppSession.demo(isSignedIn: false)
        await out.start()
        try await eventually("signed out") { out.state == .signedOut(reason: nil) }
        try await out.client.signIn(identifier: "x", password: "y")
        try await out.client.me()
        try await out.client.requestPasswordReset(identifier: "x")
        #expect(try await out.client.sessions().map(\.current) == [true])
        await #expect(throws: GatehouseError.self) { let _: String = try await out.client.get("/v1/orders") }
        try await out.client.signOut()
    }
}

/// Tests how the model performs the form's actions. `LoginFormTests` tests the form's decisions.
@MainActor
@Suite("The requests of the sign-in screen")
struct LoginViewTests {
    private func model(
        _ replies: FakeTransport.Reply...
    ) async throws -> (TaskModel<LoginForm>, FakeTransport, GatehouseClient) {
        let transport = FakeTransport()
        await transport.then(replies)
        let client = try GatehouseClient.sample(InMemoryTokenStore(), transport)
        let model = TaskModel(client: client, minimumPasswordLength: 8, after: nil)
        model.form.identifier = "ada@example.com"
        model.password = "correct horse"
        return (model, transport, client)
    }

    @Test("A password")
    func password() async throws {
        let (model, transport, client) = try await model(
            .problem(.invalidCredentials), .json(Sample.auth("first")))
        model.begin(model.form.submit())
        #expect(model.form.task.isWorking)
        try await eventually("refused") { model.showsError }
        #expect(model.form.task.error?.kind == .invalidCredentials)
        model.form.task.dismiss()
        #expect(!model.showsError)
        model.begin(model.form.submit())
        try await eventually("signed in") { !model.form.task.isWorking && !model.showsError }
        #expect(await client.session.state.user == Sample.user)
        #expect(model.password == "")
        let requests = await transport.requests
        #expect(requests.map(\.line) == ["POST /v1/auth/login", "POST /v1/auth/login"])
        #expect(requests.last?.json?.contains("correct horse") == true)
    }

    @Test("Try Again that fails at once shows an alert of its own")
    func alertAgain() async throws {
        let (model, _, _) = try await model(.problem(.internal), .problem(.internal))
        model.begin(model.form.submit())
        try await eventually("failed") { model.showsError }
        let first = model.failures
        model.begin(model.form.task.retryableAction)
        #expect(!model.showsError)
        try await eventually("failed again") { model.showsError }
        #expect(model.failures != first)
    }

    @Test("The app's logo and header")
    func slots() {
        let texts = Texts(Locale(identifier: "en"))
        let shown = EventLog()
        let options = LoginView.Options()
            .logo {
                shown.record(TelemetryEvent(TelemetryEvent.Name("logo")))
                return Image(systemName: "bag")
            }
            .header {
                shown.record(TelemetryEvent(TelemetryEvent.Name("header")))
                return Text(verbatim: "Welcome")
            }
        _ = LoginHeader(options: options, texts: texts).body
        #expect(shown.events.map(\.name.description) == ["logo", "header"])
    }

    @Test("The credential of Apple's dialog, with its nonce")
    func apple() async throws {
        let (model, transport, client) = try await model(.json(Sample.auth("first")))
        let nonce = AppleNonce.random()
        var name = PersonNameComponents()
        name.givenName = "Ada"
        let dialog = ASAuthorizationAppleIDCredential(
            simulated: "apple-ada", identityToken: Data("a.b.c".utf8), authorizationCode: Data("code".utf8),
            fullName: name)
        let credential = try AppleCredential(.success(ASAuthorization(simulated: dialog)), nonce: nonce)
        model.begin(.apple(.success(credential)))
        try await eventually("signed in") { await client.session.state.user != nil }
        let request = try #require(await transport.requests.first)
        let body = try ClientJSON.decode(AppleSignInRequest.self, from: try #require(request.httpBody))
        #expect(request.line == "POST /v1/auth/apple" && body.identityToken == "a.b.c")
        #expect(body.authorizationCode == "code" && body.fullName?.givenName == "Ada")
        #expect(body.nonce == nonce.value)
    }

    @Test("Apple's dialog: closed, failed, and without a token")
    func appleFails() {
        let empty = ASAuthorization(simulated: ASAuthorizationAppleIDCredential(simulated: "apple-ada"))
        let results: [(Result<ASAuthorization, any Error>, GatehouseError.Kind)] = [
            (.failure(ASAuthorizationError(.canceled)), .cancelled),
            (.failure(ASAuthorizationError(.failed)), .invalidAppleToken), (.success(empty), .invalidAppleToken),
        ]
        for (result, kind) in results {
            let error = #expect(throws: GatehouseError.self) { try AppleCredential(result, nonce: .random()) }
            #expect(error?.kind == kind)
        }
    }

    @Test("A failed dialog is a failed sign-in in the log; a closed one is not")
    func appleFailureIsLogged() async throws {
        let telemetry = EventLog()
        let client = try GatehouseClient(
            configuration: GatehouseConfiguration(
                baseURL: try #require(URL(string: "https://api.example.com")), store: InMemoryTokenStore(),
                transport: FakeTransport(), telemetry: telemetry, clock: ManualClock()))
        let model = TaskModel(client: client, minimumPasswordLength: 8, after: nil)
        await model.run(.apple(.failure(GatehouseError(.cancelled))))
        #expect(telemetry.events.isEmpty)
        await model.run(.apple(.failure(GatehouseError(.invalidAppleToken))))
        #expect(telemetry.events == [TelemetryEvent(.loginFailure, reason: "invalidAppleToken")])
    }

    @Test("A forgotten password")
    func forgotten() async throws {
        let (model, transport, _) = try await model(.status(202))
        model.begin(model.form.requestReset())
        try await eventually("the user is told to look for a message") { model.showsResetRequested }
        #expect(await transport.requests.map(\.line) == ["POST /v1/auth/password/forgot"])
    }
}

extension GatehouseClient {
    fileprivate static func sample(
        _ store: any TokenStore, _ transport: FakeTransport, _ clock: ManualClock = ManualClock()
    ) throws -> GatehouseClient {
        try GatehouseClient(
            configuration: GatehouseConfiguration(
                baseURL: try #require(URL(string: "https://api.example.com")), store: store, transport: transport,
                clock: clock))
    }
}
