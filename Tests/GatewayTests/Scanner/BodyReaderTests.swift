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
