import Foundation
import GatehouseTokenValidation
import Testing

@Suite("Revoked sessions")
struct RevokedSessionsTests {
    @Test("A session is live, revoked or unknown")
    func revoked() {
        let sessions = RevokedSessions(maximumStaleness: 100)
        let one = UUID()
        #expect(sessions.status(of: one, now: 1000) == .unknown)
        sessions.apply([(one, 2000)], isEnd: false, now: 1000)
        #expect(!sessions.isUsable(now: 1000))
        sessions.apply([], isEnd: true, now: 1000)
        #expect(sessions.status(of: one, now: 1000) == .revoked)
        #expect(sessions.status(of: UUID(), now: 1100) == .live)
        sessions.feedIsLost(now: 1100)
        #expect(sessions.status(of: UUID(), now: 1200) == .live)
        #expect(sessions.status(of: UUID(), now: 1201) == .unknown)
        // Forgotten once no token of it lives.
        sessions.apply([], isEnd: true, now: 2100)
        #expect(sessions.count == 0)
    }

    @Test("A session is known for revoked for as long as its last token could be accepted")
    func leeway() {
        let sessions = RevokedSessions(maximumStaleness: 100, leeway: 60)
        let (before, after) = (UUID(), UUID())
        sessions.apply([(before, 2000)], isEnd: true, now: 1000)
        sessions.apply([(after, 2000)], isEnd: true, now: 2059)
        for session in [before, after] {
            #expect(sessions.status(of: session, now: 2059) == .revoked)
        }
        sessions.apply([(after, 2000)], isEnd: true, now: 2130)
        #expect(sessions.count == 0)
    }

    @Test("A feed that is followed never grows old; one that is lost does, from its loss on")
    func staleness() {
        let sessions = RevokedSessions(maximumStaleness: 5)
        let session = UUID()
        // A loss before anything was read changes nothing.
        sessions.feedIsLost(now: 10)
        #expect(!sessions.isUsable(now: 10))
        sessions.apply([], isEnd: true, now: 20)
        #expect(sessions.status(of: session, now: 1000) == .live && sessions.isUsable(now: 1000))
        for second in Int64(1000)...1005 {
            sessions.feedIsLost(now: second)
            #expect(sessions.status(of: session, now: second) == .live)
        }
        #expect(sessions.status(of: session, now: 1006) == .unknown && !sessions.isUsable(now: 1006))
        // Only its end makes it current.
        sessions.apply([], isEnd: false, now: 1007)
        #expect(!sessions.isUsable(now: 1007))
        sessions.apply([], isEnd: true, now: 1008)
        #expect(sessions.isUsable(now: 2000))
    }
}
