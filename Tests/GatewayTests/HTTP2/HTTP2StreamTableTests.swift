import Testing

@testable import GatewayService

@Suite("Streams of an HTTP/2 connection")
struct HTTP2StreamTableTests {
    @Test("A stream is closed when both sides have ended, in either order, or one has reset it")
    func ends() {
        var table = HTTP2StreamTable()
        for stream in [UInt32(1), 3, 5, 7] { table.opened(stream) }
        #expect(table.count == 4 && table.last == 7)
        table.clientEnded(1)
        #expect(table.isOpen(1) && !table.takesData(1))
        table.clientEnded(1)
        #expect(table.isOpen(1))
        table.gatewayEnded(1)
        #expect(!table.isOpen(1) && !table.takesData(1))
        table.gatewayEnded(3)
        #expect(table.isOpen(3) && table.takesData(3))
        table.clientEnded(3)
        table.clientReset(5)
        table.gatewayReset(7)
        #expect(table.count == 0 && table.wasReset(7) && !table.wasReset(5))
        // What was never opened stays so.
        for stream in [UInt32(2), 9] {
            table.clientEnded(stream)
            table.gatewayEnded(stream)
            #expect(!table.isOpen(stream))
        }
    }

    @Test("What was reset is remembered for a while, in bounded room")
    func resets() {
        var table = HTTP2StreamTable()
        for stream in stride(from: UInt32(1), to: 10_001, by: 2) {
            table.opened(stream)
            table.gatewayReset(stream)
        }
        #expect(table.wasReset(9_999) && table.wasReset(9_999 - 2 * 255) && !table.wasReset(9_999 - 2 * 256))
        #expect(table.count == 0)
    }

    @Test("GOAWAY is never taken back")
    func wentAway() {
        var table = HTTP2StreamTable()
        #expect(table.lastAllowed == .max)
        table.wentAway(after: 7)
        table.wentAway(after: 9)
        #expect(table.lastAllowed == 7)
    }
}
