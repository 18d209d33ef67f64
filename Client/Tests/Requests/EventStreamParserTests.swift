import Foundation
import Testing

@testable import GatehouseClient

struct EventStreamParserTests {
    private func events(_ text: String) throws -> [ServerSentEvent] { try events(Array(text.utf8)) }

    /// Whole, and cut into two pieces at each byte.
    private func events(_ bytes: [UInt8]) throws -> [ServerSentEvent] {
        var parser = EventStreamParser()
        let whole = try parser.consume(bytes)
        for cut in 0...bytes.count {
            var parser = EventStreamParser()
            let pieces = try parser.consume(bytes[..<cut]) + parser.consume(bytes[cut...])
            #expect(pieces == whole, "cut at \(cut)")
        }
        return whole
    }

    @Test func theSpecificationsExamples() throws {
        #expect(try events("data: YHOO\ndata: +2\ndata: 10\n\n") == [ServerSentEvent(data: "YHOO\n+2\n10")])
        let four = ": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n\n"
        let three = [
            ServerSentEvent(data: "first event", id: "1"), ServerSentEvent(data: "second event"),
            ServerSentEvent(data: " third event"),
        ]
        #expect(try events(four) == three)
        let empty = [ServerSentEvent(data: ""), ServerSentEvent(data: "\n")]
        #expect(try events("data\n\ndata\ndata\n\ndata:") == empty)
        let twice = [ServerSentEvent(data: "test"), ServerSentEvent(data: "test")]
        #expect(try events("data:test\n\ndata: test\n\n") == twice)
    }

    @Test(arguments: ["\n", "\r", "\r\n"])
    func everyLineEnd(end: String) throws {
        let text = ["event: a", "data: 1", "", "data: 2", "", ""].joined(separator: end)
        #expect(try events(text) == [ServerSentEvent(event: "a", data: "1"), ServerSentEvent(data: "2")])
    }

    @Test func typesLastForOneEventAndIdentifiersForAll() throws {
        let text = "event: add\nid: 7\ndata: x\n\nevent: gone\n\ndata: y\n\nid: a\0b\ndata: z\n\n"
        let three = [
            ServerSentEvent(event: "add", data: "x", id: "7"), ServerSentEvent(data: "y", id: "7"),
            ServerSentEvent(data: "z", id: "7"),
        ]
        #expect(try events(text) == three)
    }

    @Test func theServersPause() throws {
        #expect(try events("retry: 1500\ndata: x\n\n").first?.retry == .milliseconds(1500))
        for wrong in ["1.5", "-1", "", "٥", "99999999999999"] {
            #expect(try events("retry: \(wrong)\ndata: x\n\n").first?.retry == nil, "\(wrong)")
        }
    }

    @Test func anIncompleteEventIsDropped() throws {
        #expect(try events("data: x\n").isEmpty)
        #expect(try events("data: x").isEmpty)
        #expect(try events("\n\n\nid: 1\n\n: comment\n\nfoo: bar\n\n data: x\n\n").isEmpty)
    }

    @Test func aByteOrderMarkIsSkippedOnceOnly() throws {
        #expect(try events("\u{FEFF}data: x\n\n") == [ServerSentEvent(data: "x")])
        #expect(try events("data: y\n\n\u{FEFF}data: x\n\n") == [ServerSentEvent(data: "y")])
    }

    @Test func lettersOfSeveralBytesAndNone() throws {
        #expect(try events("data: שלום 👋🏽\n\n") == [ServerSentEvent(data: "שלום 👋🏽")])
        #expect(try events(Array("data: ".utf8) + [0xFF] + Array("\n\n".utf8)) == [ServerSentEvent(data: "\u{FFFD}")])
    }

    @Test func nothingGrowsWithoutBound() throws {
        var parser = EventStreamParser()
        #expect(throws: EventStreamParser.TooLong.self) {
            let letters = [UInt8](repeating: 0x61, count: 1024)
            for _ in 0...(EventStreamParser.longest / 1024) { _ = try parser.consume(letters) }
        }
        var lines = EventStreamParser()
        #expect(throws: EventStreamParser.TooLong.self) {
            let line = Array("data: \(String(repeating: "x", count: 1024))\n".utf8)
            for _ in 0...(EventStreamParser.longest / 1024) { _ = try lines.consume(line) }
        }
        var fine = EventStreamParser()
        let event = Array("data: \(String(repeating: "x", count: 1024))\n\n".utf8)
        for _ in 0...(EventStreamParser.longest / 1024) { #expect(try fine.consume(event).count == 1) }
    }
}
