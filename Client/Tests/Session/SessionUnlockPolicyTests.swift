import Foundation
import Testing

@testable import GatehouseClient

@Suite("How a session is unlocked, and when it expires")
struct SessionUnlockPolicyTests {
    @Test("A store without a lock refuses one, and the error says why")
    func withoutLock() async throws {
        let client = try await TestDevice().signedIn()
        #expect(client.session.unlockPolicy == .notRequired && !client.session.isProtected)
        try await client.session.setUnlockPolicy(.notRequired, reason: "r")
        let store = InMemoryTokenStore()
        try await store.setUnlockPolicy(.notRequired)
        let error = await #expect(throws: GatehouseError.self) {
            try await client.session.setUnlockPolicy(.biometrics, reason: "r")
        }
        #expect(error?.kind == .unlockUnavailable)
        #expect(await client.session.state.user != nil)
    }

    @Test("A session that was stored before, for demos, is open without a request")
    func demo() async throws {
        let client = try GatehouseClient(
            configuration: GatehouseConfiguration(
                baseURL: try #require(URL(string: "https://demo.invalid")),
                store: InMemoryTokenStore(signedIn: Sample.user), transport: FakeTransport(), clock: SystemClock(),
                checksAtLaunch: false))
        try await client.session.start()
        #expect(await client.session.state == .signedIn(Sample.user))
        #expect(try await client.session.accessToken().value.value == "demo")
    }

    @Test("The expiry is readable while a user is signed in")
    func expiry() async throws {
        let signedIn = try await SignedIn()
        let expiry = try #require(await signedIn.client.session.expiry)
        #expect(expiry.accessToken == Sample.auth("first").expiresAt)
        #expect(expiry.session == Sample.auth("first").refreshExpiresAt)
        await signedIn.transport.then(.status(204))
        try await signedIn.client.signOut()
        #expect(await signedIn.client.session.expiry == nil)
    }

    @Test("The explanation of an ended session, for an app's own screen")
    func message() {
        #expect(SignOutReason.user.message() == nil)
        #expect(
            SignOutReason.expired.message(in: "en") == "You haven’t used the app for a long time. Please sign in again."
        )
    }
}
