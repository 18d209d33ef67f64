import Foundation
import Security
import SwiftUI
import Testing

@testable import GatehouseClient
@testable import GatehouseUI

/// What an app shows to who is signed in.
private struct Shop: View {
    @EnvironmentObject private var session: AppSession

    init() {}

    var body: some View {
        if case .signedIn(let user) = session.state { Text(verbatim: "Hello \(user.displayName ?? "")") }
    }
}

@MainActor
@Suite("An app behind its gate")
struct GateTests {
    private func client(
        _ store: any TokenStore = InMemoryTokenStore(), _ transport: FakeTransport = FakeTransport()
    ) throws -> GatehouseClient {
        try GatehouseClient(
            configuration: GatehouseConfiguration(
                baseURL: try #require(URL(string: "https://api.example.com")), store: store, transport: transport,
                clock: ManualClock()))
    }

    private func stored(_ store: any TokenStore) async throws {
        try await client(store, FakeTransport(.json(Sample.auth("first"))))
            .signIn(identifier: "ada@example.com", password: "correct horse")
    }

    @Test("Nobody has signed in: first the indicator, then the screen to sign in, then the app, then the screen again")
    func signsInAndOut() async throws {
        let transport = FakeTransport(.json(Sample.auth("first")))
        let client = try client(InMemoryTokenStore(), transport)
        let host = ViewHost(Shop().gatehouse(AppSession(client: client)))
        defer { host.close() }
        #expect(host.find("gatehouse.launch.progress")?.label == "Loading…")
        try await eventually("the screen to sign in") { host.find("gatehouse.login.submit") != nil }
        host.find("gatehouse.login.identifier")?.type?("ada@example.com")
        host.find("gatehouse.login.password")?.type?("correct horse")
        host.find("gatehouse.login.submit")?.tap?()
        try await eventually("the app") { host.texts.contains("Hello Ada") }
        await transport.then(.status(204))
        try await client.signOut()
        try await eventually("the screen again") { host.find("gatehouse.login.submit") != nil }
        #expect(host.find("gatehouse.login.identifier")?.text == "")
    }

    @Test("Somebody was signed in: the app at once")
    func restored() async throws {
        let store = InMemoryTokenStore()
        try await stored(store)
        let host = ViewHost(Shop().gatehouse(AppSession(client: try client(store, FakeTransport(.json(Sample.user))))))
        defer { host.close() }
        try await eventually("the app") { host.texts.contains("Hello Ada") }
    }

    @Test("A store that fails: said, and tried again")
    func storeFails() async throws {
        let bench = KeychainBench()
        defer { bench.remove() }
        let store = bench.store()
        try await stored(store)
        bench.device.fail("SecItemCopyMatching", with: errSecNotAvailable)
        let host = ViewHost(
            Shop().gatehouse(AppSession(client: try client(bench.store(), FakeTransport(.json(Sample.user))))))
        defer { host.close() }
        try await eventually("the error") { host.find("gatehouse.launch.error")?.text?.isEmpty == false }
        bench.device.fail("SecItemCopyMatching", with: nil)
        host.find("gatehouse.launch.tryAgain")?.tap?()
        try await eventually("the app") { host.texts.contains("Hello Ada") }
    }

    @Test("Warmed up before the device was unlocked: launching, and on with it when the app comes to the foreground")
    func prewarmed() async throws {
        let bench = KeychainBench()
        defer { bench.remove() }
        try await stored(bench.store())
        bench.device.lock = .beforeFirstUnlock
        let client = try client(bench.store(), FakeTransport(.json(Sample.user)))
        let host = ViewHost(Shop().gatehouse(AppSession(client: client)))
        defer { host.close() }
        host.environment.scenePhase = .background
        host.look()
        await #expect(throws: GatehouseError.self) { try await client.session.start() }
        #expect(await client.session.state == .locked(.device))
        #expect(host.find("gatehouse.launch.progress") != nil && host.find("gatehouse.launch.error") == nil)
        bench.device.lock = .unlocked
        host.environment.scenePhase = .active
        try await eventually("the app") { host.texts.contains("Hello Ada") }
    }

    @Test("Behind Face ID: the dialog comes by itself once; cancelled it waits for the button")
    func unlocks() async throws {
        let bench = KeychainBench()
        defer { bench.remove() }
        try await stored(bench.store(biometry: true))
        bench.device.user(answers: .cancelled)
        let host = ViewHost(
            Shop().gatehouse(
                AppSession(client: try client(bench.store(biometry: true), FakeTransport(.json(Sample.user))))))
        defer { host.close() }
        try await eventually("the dialog was closed") {
            host.look()
            return bench.device.prompts.count == 1 && host.find("gatehouse.unlock.submit")?.isDisabled == false
        }
        #expect(host.find("gatehouse.unlock.error") == nil)
        #expect(bench.device.prompts == [InterfaceText.unlockReason.text(in: "en")])
        host.find("gatehouse.unlock.submit")?.tap?()
        try await eventually("the app") { host.texts.contains("Hello Ada") }
        #expect(bench.device.prompts.count == 2)
    }

    @Test("Behind Face ID: whoever cannot unlock signs in instead")
    func signsInInstead() async throws {
        let bench = KeychainBench()
        defer { bench.remove() }
        try await stored(bench.store(biometry: true))
        bench.device.user(answers: .notRecognized)
        let host = ViewHost(
            Shop().gatehouse(
                AppSession(client: try client(bench.store(biometry: true), FakeTransport(.json(Sample.auth("second")))))
            ))
        defer { host.close() }
        try await eventually("not recognized") {
            host.look()
            return bench.device.prompts.count == 1 && host.find("gatehouse.unlock.signIn")?.isDisabled == false
        }
        host.find("gatehouse.unlock.signIn")?.tap?()
        host.find("gatehouse.login.identifier")?.type?("ada@example.com")
        host.find("gatehouse.login.password")?.type?("correct horse")
        host.find("gatehouse.login.submit")?.tap?()
        try await eventually("the app") { host.texts.contains("Hello Ada") }
    }

    @Test("Behind Face ID: whoever wanted to sign in instead may go back")
    func goesBack() async throws {
        let bench = KeychainBench()
        defer { bench.remove() }
        try await stored(bench.store(biometry: true))
        bench.device.user(answers: .cancelled)
        let host = ViewHost(
            Shop().gatehouse(
                AppSession(client: try client(bench.store(biometry: true), FakeTransport(.json(Sample.user))))))
        defer { host.close() }
        try await eventually("the dialog was closed") {
            host.look()
            return bench.device.prompts.count == 1 && host.find("gatehouse.unlock.signIn")?.isDisabled == false
        }
        host.find("gatehouse.unlock.signIn")?.tap?()
        #expect(host.find("gatehouse.login.submit") != nil)
        try #require(host.find("gatehouse.unlock.back")).tap?()
        // The screen to unlock asks when it is shown.
        try await eventually("the app") { host.texts.contains("Hello Ada") }
        #expect(bench.device.prompts.count == 2)
    }

    @Test(
        "Behind Face ID: whoever saw no dialog is told why", arguments: [UnlockObstacle.lockedOut, .unavailable])
    func obstacle(obstacle: UnlockObstacle) async throws {
        let bench = KeychainBench()
        defer { bench.remove() }
        try await stored(bench.store(biometry: true))
        bench.device.user(answers: .notRecognized)
        let client = try client(bench.store(biometry: true), FakeTransport(.json(Sample.user)))
        let host = ViewHost(Shop().gatehouse(AppSession(client: client) { obstacle }))
        defer { host.close() }
        let text = obstacle.text.text(in: "en")
        try await eventually("the sentence") { host.find("gatehouse.unlock.error")?.text == text }
        #expect(announcements.contains(text))
        try await eventually("the button") { host.find("gatehouse.unlock.submit")?.isDisabled == false }
        host.find("gatehouse.unlock.submit")?.tap?()
        try await eventually("the app") { host.texts.contains("Hello Ada") }
    }

    @Test("Ended elsewhere: said above the form, until the next attempt")
    func endedElsewhere() async throws {
        let transport = FakeTransport(.json(Sample.auth("first")))
        let client = try client(InMemoryTokenStore(), transport)
        let host = ViewHost(Shop().gatehouse(AppSession(client: client)))
        defer { host.close() }
        try await client.signIn(identifier: "ada@example.com", password: "correct horse")
        try await eventually("the app") { host.texts.contains("Hello Ada") }
        await transport.then(.problem(.invalidRefreshToken))
        let token = try await client.session.accessToken()
        await #expect(throws: GatehouseError.self) { try await client.session.accessToken(after: token) }
        let text = InterfaceText.endedByServer.text(in: "en")
        try await eventually("the reason") { host.find("gatehouse.login.notice")?.text == text }
        await transport.then(.json(Sample.auth("second")), .status(204))
        host.find("gatehouse.login.identifier")?.type?("ada@example.com")
        host.find("gatehouse.login.password")?.type?("correct horse")
        host.find("gatehouse.login.submit")?.tap?()
        #expect(host.find("gatehouse.login.notice") == nil)
        try await eventually("the app again") { host.texts.contains("Hello Ada") }
        try await client.signOut()
        try await eventually("the screen without a reason") { host.find("gatehouse.login.submit") != nil }
        #expect(host.find("gatehouse.login.notice") == nil)
    }

    @Test("Behind Face ID: a Keychain that fails is said, and the button tries again")
    func unlockFails() async throws {
        let bench = KeychainBench()
        defer { bench.remove() }
        try await stored(bench.store(biometry: true))
        bench.device.isInBackground = true
        let host = ViewHost(
            Shop().gatehouse(
                AppSession(client: try client(bench.store(biometry: true), FakeTransport(.json(Sample.user))))))
        defer { host.close() }
        try await eventually("no dialog can be shown") { host.find("gatehouse.unlock.submit")?.isDisabled == false }
        bench.device.fail("SecItemCopyMatching", with: errSecNotAvailable)
        try await eventually("the error") {
            host.find("gatehouse.unlock.submit")?.tap?()
            return host.find("gatehouse.unlock.error")?.text?.isEmpty == false
        }
        bench.device.fail("SecItemCopyMatching", with: nil)
        bench.device.isInBackground = false
        // The last tap's attempt may still be under way; a tap meanwhile is none.
        try await eventually("the app") {
            host.find("gatehouse.unlock.submit")?.tap?()
            return host.texts.contains("Hello Ada")
        }
    }

    @Test("Another finger was added: the session is gone, and the app asks for a sign-in")
    func enrolmentChanged() async throws {
        let bench = KeychainBench()
        defer { bench.remove() }
        try await stored(bench.store(biometry: true))
        bench.device.changeBiometrics()
        let client = try client(bench.store(biometry: true))
        let host = ViewHost(Shop().gatehouse(AppSession(client: client)))
        defer { host.close() }
        try await eventually("the screen to sign in") { host.find("gatehouse.login.submit") != nil }
        #expect(await client.session.state == .signedOut(reason: .storeCorrupt))
        #expect(host.find("gatehouse.login.notice")?.text == InterfaceText.endedUnreadable.text(in: "en"))
    }

    @Test("A demo has a user and no server")
    func demo() async throws {
        let host = ViewHost(Shop().gatehouse(try await AppSession.demo()))
        defer { host.close() }
        try await eventually("the app") { host.texts.contains("Hello Demo") }
        let out = try await AppSession.demo(isSignedIn: false)
        let second = ViewHost(Shop().gatehouse(out))
        defer { second.close() }
        try await eventually("the screen to sign in") { second.find("gatehouse.login.submit") != nil }
        try await out.client.signIn(identifier: "x", password: "y")
        try await out.client.me()
        try await out.client.forgotPassword(identifier: "x")
        await #expect(throws: GatehouseError.self) { try await out.client.sessions() }
        try await out.client.signOut()
    }
}
