import NIOCore
import Testing

@testable import GatewayService

@Suite("Bodies")
struct BodyReaderTests {
    /// Feeds `text` in pieces of `size` bytes; gives the body, the trailers and what is left over.
    private func read(
        _ text: String, _ framing: BodyFraming, size: Int, connectionOptions: [[UInt8]] = []
    ) throws(HeadFault) -> (body: String, trailers: String?, rest: String, isComplete: Bool) {
        var reader = BodyReader(framing, connectionOptions: connectionOptions)
        var input = ByteBuffer()
        var body = ""
        var bytes = Array(text.utf8)[...]
        while true {
            while let part = try reader.next(from: &input) {
                switch part {
                case .data(let data): body += String(buffer: data)
                case .end(let trailers):
                    input.writeBytes(bytes)
                    return (body, trailers.map { String(buffer: $0) }, String(buffer: input), true)
                }
            }
            guard !bytes.isEmpty else { return (body, nil, String(buffer: input), false) }
            input.writeBytes(bytes.prefix(size))
            bytes = bytes.dropFirst(size)
        }
    }

    @Test("Bodies are taken out whole however they are cut", arguments: 1...9)
    func pieces(size: Int) throws {
        let chunked = "5\r\nhello\r\n00A;a;b=c\r\n0123456789\r\n0\r\nX-Sum: 1\r\nGatehouse_Role: x\r\n\r\nGET"
        let result = try read(chunked, .chunked, size: size)
        #expect(result == ("hello0123456789", "X-Sum: 1\r\n", "GET", true))
        #expect(try read("0\r\n\r\nx", .chunked, size: size) == ("", nil, "x", true))
        #expect(try read("helloGET", .length(5), size: size) == ("hello", nil, "GET", true))
        #expect(try read("", .length(0), size: size) == ("", nil, "", true))
        #expect(try read("hello", .untilClose, size: size) == ("hello", nil, "", false))
        #expect(try read("5\r\nhel", .chunked, size: size).isComplete == false)
    }

    @Test("Trailer fields that Connection names are left out, whatever their case")
    func connectionOptions() throws {
        let options = [Array("x-one".utf8), Array("X-TWO".utf8)]
        let text = "0\r\nX-One: 1\r\nX-On: 1\r\nx-two: 2\r\n\r\n"
        #expect(try read(text, .chunked, size: 5, connectionOptions: options).trailers == "X-On: 1\r\n")
        let all = "0\r\nX-One: 1\r\n\r\n"
        #expect(try read(all, .chunked, size: 5, connectionOptions: options).trailers == nil)
    }

    @Test("Chunks are counted, however they come", arguments: [1, 2, 3, 7, 100, 100_000])
    func counted(size: Int) throws {
        let chunks = ["0a\r\n0123456789\r\n", "1\r\nx\r\n", "F\r\n0123456789abcde\r\n", "2;a=b\r\nxy\r\n"]
        let long = "1388\r\n\(String(repeating: "z", count: 5000))\r\n"
        var bytes = Array((chunks.joined() + long + chunks.joined() + "0\r\n\r\n").utf8)[...]
        var reader = BodyReader(.chunked)
        var input = ByteBuffer()
        var (count, body) = (0, "")
        while !bytes.isEmpty {
            input.writeBytes(bytes.prefix(size))
            bytes = bytes.dropFirst(size)
            while case .data(let data) = try reader.next(from: &input) {
                body += String(buffer: data)
                count += reader.takeChunks()
            }
        }
        #expect(count == 9)
        let text = "0123456789x0123456789abcdexy"
        #expect(body == text + String(repeating: "z", count: 5000) + text)
    }

    @Test(
        "A chunk of one digit that is not as it should be is refused",
        arguments: [
            "1\r\nx\r\n1\r\nxyz", "1\r\nx\r\n1\rx", "1\r\nx\r\n1\nx\r\n", "1\r\nx\r\ng\r\nx\r\n",
        ])
    func oneDigit(text: String) {
        #expect(throws: HeadFault.self) { try read(text, .chunked, size: 100) }
    }

    @Test("Small chunks that are there together are one part; large ones are not copied to them")
    func gathered() throws {
        func parts(_ text: String) throws -> [String] {
            var reader = BodyReader(.chunked)
            var input = ByteBuffer(string: text)
            var parts: [String] = []
            while let part = try reader.next(from: &input) {
                switch part {
                case .data(let data): parts.append(String(buffer: data))
                case .end: parts.append("end")
                }
            }
            return parts
        }
        let large = String(repeating: "l", count: PendingOutput.small + 1)
        let largeChunk = "\(String(large.utf8.count, radix: 16))\r\n\(large)\r\n"
        #expect(try parts("1\r\na\r\n1;x\r\nb\r\n3;x=y;z\r\ncde\r\n0\r\n\r\n") == ["abcde", "end"])
        #expect(try parts("1\r\na\r\n1\r\nb\r\n\(largeChunk)1\r\nc\r\n1\r\nd\r\n") == ["ab", large, "cd"])
        #expect(try parts("1\r\na\r\n1\r\nb\r\n2\r\nc") == ["ab", "c"], "the beginning of one that is not whole")
        // More than one part may have.
        let many = String(repeating: "3e8\r\n\(String(repeating: "m", count: 1000))\r\n", count: 40) + "0\r\n\r\n"
        let found = try parts(many)
        #expect(found.count == 4 && found.dropLast().joined().utf8.count == 40_000)
    }

    @Test(
        "What is before a broken chunk is read, the broken one is refused",
        arguments: ["1\r\nxy\r\n", "g\r\n", "1;\r\n"])
    func broken(_ end: String) throws {
        var reader = BodyReader(.chunked)
        var input = ByteBuffer(string: "1\r\na\r\n1\r\nb\r\n" + end)
        #expect(try reader.next(from: &input) == .data(ByteBuffer(string: "ab")))
        #expect(throws: HeadFault.self) { while try reader.next(from: &input) != nil {} }
    }

    @Test(
        "Chunks that two parsers could read in two ways are refused",
        arguments: [
            "\r\n", "g\r\n", "-1\r\n", "0x1\r\n", " 1\r\na\r\n", "1 \r\na\r\n", "1\na\r\n", "1\r\nab\r\n",
            "1\r\na\n0\r\n\r\n",
            "1000000000000000\r\n", "ffffffffffffffff1\r\n", "1;\r\na\r\n", "1;a=\r\na\r\n", "1;a=\"b\"\r\na\r\n",
            "1; a\r\na\r\n", "1;a\n\r\na\r\n", "1;\(String(repeating: "a", count: 300))", "0\r\nA : b\r\n\r\n",
            "0\r\nContent-Length: 5\r\n\r\n", "0\r\nTransfer-Encoding: chunked\r\n\r\n", "0\r\nHost: h\r\n\r\n",
            "0\r\n folded\r\n\r\n",
        ])
    func refused(_ text: String) {
        #expect(throws: HeadFault.self) { try read(text, .chunked, size: 1000) }
    }
}
