import Foundation
import Testing

@testable import GatehouseClient

@Suite("The list of sessions")
struct SessionsFormTests {
    private static let this = session(current: true, lastUsedAt: 100)
    private static let older = session(current: false, lastUsedAt: 200)
    private static let newer = session(current: false, lastUsedAt: 300)

    private static func session(current: Bool, lastUsedAt: TimeInterval) -> SessionInfo {
        let time = Date(timeIntervalSince1970: lastUsedAt)
        return SessionInfo(id: UUID(), current: current, createdAt: time, lastUsedAt: time, expiresAt: time)
    }

    private func loaded() -> SessionsForm {
        var form = SessionsForm()
        form.succeeded(.load, with: [Self.older, Self.this, Self.newer])
        return form
    }

    @Test("This device comes first, then the sessions by last use")
    func order() {
        #expect(SessionsForm().sessions == nil && !SessionsForm().hasOthers)
        #expect(loaded().sessions == [Self.this, Self.newer, Self.older])
    }

    @Test("Ended sessions leave the list")
    func ends() {
        var form = loaded()
        form.succeeded(.end(Self.newer), with: nil)
        #expect(form.sessions == [Self.this, Self.older] && form.hasOthers)
        form.succeeded(.endOthers, with: nil)
        #expect(form.sessions == [Self.this] && !form.hasOthers)
    }
}
