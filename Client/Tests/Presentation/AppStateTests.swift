import Testing

@testable import GatehouseClient

@Suite("What an app shows")
struct AppStateTests {
    @Test("Of each state of the session")
    func states() {
        #expect(AppState(.restoring) == .launching)
        #expect(AppState(.locked(.device)) == .launching)
        #expect(AppState(.locked(.userPresence)) == .needsUnlock)
        #expect(AppState(.signedOut(reason: nil)) == .signedOut(reason: nil))
        #expect(AppState(.signedOut(reason: .endedByServer)) == .signedOut(reason: .endedByServer))
        #expect(AppState(.signedIn(Sample.user)) == .signedIn(Sample.user))
    }
}
