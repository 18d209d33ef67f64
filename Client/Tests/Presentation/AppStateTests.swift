import Testing

@testable import GatehouseClient

@Suite("The app's screen")
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

    @Test("The unlock screen's response to a failed authentication")
    func unlockFailures() {
        for code in [TokenStoreError.Code.userPresenceRefused, .userPresenceNeeded, .userPresenceFailed] {
            #expect(UnlockFailure(code, obstacle: .lockedOut) == .text(.lockedOut))
            #expect(UnlockFailure(code, obstacle: .unavailable) == .text(.biometryUnavailable))
        }
        #expect(UnlockFailure(.userPresenceRefused, obstacle: nil) == .silent)
        #expect(UnlockFailure(.userPresenceNeeded, obstacle: nil) == .silent)
        #expect(UnlockFailure(.userPresenceFailed, obstacle: nil) == .signIn)
        #expect(UnlockFailure(.failed, obstacle: .lockedOut) == .error)
    }
}
