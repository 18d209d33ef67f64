import Testing

@testable import GatewayService

@Suite("Where frames of a WebSocket begin")
struct WebSocketFramesTests {
    @Test("Lengths of every kind, with a mask and without, however the bytes are cut", arguments: [1, 3, 70_000])
    func boundaries(size: Int) {
        let payload = [UInt8](repeating: 0x88, count: 66_000)
        let frames: [[UInt8]] = [
            [0x89, 0], [0x81, 3] + payload.prefix(3), [0x82, 0x83, 1, 2, 3, 4] + payload.prefix(3),
            [0x8A, 0x80, 1, 2, 3, 4],
            [0x02, 126, 0x01, 0x00] + payload.prefix(256), [0x80, 0xFE, 0, 126, 9, 9, 9, 9] + payload.prefix(126),
            [0x82, 127, 0, 0, 0, 0, 0, 1, 0x01, 0xD0] + payload,
        ]
        for frame in frames {
            var reader = WebSocketFrames()
            var rest = frame[...]
            while !rest.isEmpty {
                let part = rest.prefix(size)
                rest = rest.dropFirst(size)
                reader.note(part)
                #expect(reader.isAtBoundary == rest.isEmpty)
            }
        }
        var reader = WebSocketFrames()
        reader.note(frames.joined().map(\.self))
        #expect(reader.isAtBoundary)
        reader.note([0x82, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1, 2, 3, 4, 5])
        #expect(!reader.isAtBoundary)
    }

    @Test("What the gateway says is a whole frame, masked for a server")
    func goingAway() {
        #expect(WebSocketFrames.goingAway(mask: nil) == [0x88, 2, 0x03, 0xE9])
        #expect(WebSocketFrames.goingAway(mask: 0x0102_0304) == [0x88, 0x82, 1, 2, 3, 4, 0x02, 0xEB])
    }
}
