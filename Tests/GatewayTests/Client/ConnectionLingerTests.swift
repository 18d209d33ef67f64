import Testing

@testable import GatewayService

@Suite("When a connection that ends may be closed")
struct ConnectionLingerTests {
    private final class Connection {
        private var linger = ConnectionLinger(minimumRate: MinimumRate(bytesPerSecond: 100, timeout: 10), longest: 5)

        func step(waiting: Int, isEnding: Bool = true, hasDelivered: Bool, at now: Int64) -> ConnectionLinger.Step {
            linger.step(waiting: waiting, isEnding: isEnding, hasDelivered: { hasDelivered }, at: now)
        }
    }

    @Test("Not while bytes wait, unless the client takes none of them")
    func waiting() {
        for isEnding in [false, true] {
            let connection = Connection()
            for now in 0..<10 {
                #expect(connection.step(waiting: 100, isEnding: isEnding, hasDelivered: true, at: Int64(now)) == .wait)
            }
            #expect(connection.step(waiting: 100, isEnding: isEnding, hasDelivered: true, at: 10) == .cut)
        }
    }

    @Test("A client that takes something has more time")
    func progress() {
        let connection = Connection()
        for now in 0..<100 {
            #expect(connection.step(waiting: 1000 - now, hasDelivered: false, at: Int64(now)) == .wait)
        }
        #expect(connection.step(waiting: 0, hasDelivered: true, at: 100) == .cut)
    }

    @Test("With nothing left the client is told first, and its system has time to take all")
    func delivery() {
        let connection = Connection()
        #expect(connection.step(waiting: 0, isEnding: false, hasDelivered: false, at: 0) == .end)
        for now in 0..<5 {
            #expect(connection.step(waiting: 0, hasDelivered: false, at: Int64(now)) == .wait)
        }
        // Something was written again, so the time begins again.
        #expect(connection.step(waiting: 1, hasDelivered: false, at: 4) == .wait)
        for now in 5..<10 {
            #expect(connection.step(waiting: 0, hasDelivered: false, at: Int64(now)) == .wait)
        }
        #expect(connection.step(waiting: 0, hasDelivered: false, at: 10) == .cut)
        let other = Connection()
        #expect(other.step(waiting: 0, hasDelivered: true, at: 0) == .cut)
    }
}
