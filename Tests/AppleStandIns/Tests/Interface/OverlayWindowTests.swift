import Foundation
import GatehouseContracts
import Testing

@testable import GatehouseClient
@testable import GatehouseUI

/// Tests the window above the content of a locked session.
@MainActor
@Suite("The window above the content")
struct OverlayWindowTests {
    private let bench = OverlayBench()

    private static let open = OverlayBench.State(isShown: true, isKey: true, isSilent: false)
    private static let below = OverlayBench.State(isShown: true, isKey: false, isSilent: true)

    @Test("It is above alerts, takes the keyboard, and VoiceOver reads nothing below; then all is as before")
    func locks() {
        bench.appear(in: bench.scene)
        #expect(bench.overlay.window == nil)
        bench.show(.unlock)
        let window = bench.overlay.window
        #expect(bench.isAboveAlerts && bench.state(of: window) == Self.open)
        // The content keeps its window, and with it its sheets and state.
        #expect(bench.state(of: bench.content) == Self.below)
        bench.show(nil)
        #expect(bench.overlay.window == nil && bench.state(of: window)?.isShown == false)
        #expect(bench.state(of: bench.content) == Self.open && bench.count(in: bench.scene) == 1)
    }

    @Test("In the app switcher it takes no keyboard, and the same window becomes the unlock screen")
    func covers() {
        bench.appear(in: bench.scene)
        bench.show(.cover)
        let window = bench.overlay.window
        #expect(bench.state(of: window) == .init(isShown: true, isKey: false, isSilent: false))
        #expect(bench.state(of: bench.content) == .init(isShown: true, isKey: true, isSilent: true))
        bench.show(.unlock)
        #expect(bench.overlay.window === window && bench.state(of: window) == Self.open)
        bench.show(.cover)
        bench.show(nil)
        #expect(bench.state(of: bench.content) == Self.open)
    }

    @Test("Each scene has its own, and one that was asked for early appears with the gate's window")
    func scenes() {
        bench.show(.unlock)
        #expect(bench.overlay.window == nil)
        bench.appear(in: bench.scene)
        #expect(bench.count(in: bench.scene) == 2 && bench.count(in: bench.other) == 1)
        bench.appear(in: bench.other)
        #expect(bench.count(in: bench.scene) == 1 && bench.count(in: bench.other) == 2)
        #expect(bench.state(of: bench.content) == Self.open && bench.state(of: bench.otherContent) == Self.below)
        bench.dismantle()
        #expect(bench.count(in: bench.other) == 1 && bench.state(of: bench.otherContent) == Self.open)
    }

    @Test("A full-screen cover of the app, below which the gate has no window, leaves it where it is")
    func fullScreenCover() {
        bench.appear(in: bench.scene)
        bench.show(.unlock)
        let window = bench.overlay.window
        bench.appear(in: nil)
        #expect(bench.overlay.window === window && bench.state(of: window) == Self.open)
        bench.appear(in: bench.scene)
        #expect(bench.overlay.window === window && bench.state(of: window) == Self.open)
    }

    @Test("It appears above a full-screen cover without an update by SwiftUI, and not after the gate is removed")
    func followsSession() async throws {
        let keychain = KeychainBench()
        defer { keychain.remove() }
        let center = NotificationCenter()
        let client = try GatehouseClient(
            configuration: GatehouseConfiguration(
                baseURL: try #require(URL(string: "https://api.example.com")),
                store: keychain.store(lock: .biometrics), transport: FakeTransport(.json(Sample.auth("first"))),
                clock: ManualClock()))
        let session = AppSession(client, lockDelay: .zero, center: center, isInBackground: { false })
        await session.start()
        try await client.signIn(identifier: "ada@example.com", password: "correct horse")
        try await eventually("signed in") { session.isAuthenticated }
        let bench = OverlayBench(session)
        bench.appear(in: bench.scene)
        bench.appear(in: nil)
        center.resignActive()
        #expect(bench.state(of: bench.overlay.window) == .init(isShown: true, isKey: false, isSilent: false))
        center.enterBackground()
        try await eventually("locked") { session.state == .needsUnlock }
        #expect(bench.state(of: bench.overlay.window) == Self.open)
        bench.dismantle()
        center.becomeActive()
        #expect(bench.overlay.window == nil && bench.state(of: bench.content) == Self.open)
    }

    @Test("Windows whose elements the app has hidden itself stay hidden")
    func hiddenBefore() {
        let toast = bench.addWindow(isSilent: true)
        bench.appear(in: bench.scene)
        bench.show(.unlock)
        bench.show(nil)
        #expect(bench.state(of: toast)?.isSilent == true)
    }

    @Test("A window that the app shows while the session is locked is hidden from VoiceOver too")
    func shownLater() {
        bench.appear(in: bench.scene)
        bench.show(.unlock)
        let toast = bench.addWindow()
        #expect(bench.state(of: toast)?.isSilent == true)
        bench.show(nil)
        #expect(bench.state(of: toast)?.isSilent == false)
        #expect(bench.state(of: bench.addWindow())?.isSilent == false)
    }
}
