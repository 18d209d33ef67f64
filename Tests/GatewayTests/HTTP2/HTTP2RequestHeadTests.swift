import NIOCore
import NIOHPACK
import Testing

@testable import GatewayService

@Suite("Heads of HTTP/2 as heads of HTTP/1.1")
struct HTTP2RequestHeadTests {
    private static let plain: [(String, String)] = [
        (":method", "POST"), (":scheme", "https"), (":authority", "a.test"), (":path", "/x?y=1"),
    ]

    private func text(_ fields: [(String, String)], hasBody: Bool = false) throws -> String {
        String(buffer: try HTTP2RequestHead(HPACKHeaders(fields), hasBody: hasBody).bytes)
    }

    @Test("All that it says, and no more")
    func translation() throws {
        let line = "POST /x?y=1 HTTP/1.1\r\nHost: a.test\r\n"
        #expect(try text(Self.plain) == line + "\r\n")
        #expect(try text(Self.plain, hasBody: true) == line + "Transfer-Encoding: chunked\r\n\r\n")
        #expect(
            try text(Self.plain + [("content-length", "3"), ("x", "")], hasBody: true)
                == line + "content-length: 3\r\nx: \r\n\r\n")
        #expect(
            try text(Self.plain + [("cookie", "a"), ("te", "trailers"), ("host", "a.test"), ("cookie", "b")])
                == line + "Cookie: a; b\r\n\r\n")
        let byHost = [(":method", "GET"), (":scheme", "https"), (":path", "/"), ("host", "b.test")]
        #expect(try text(byHost) == "GET / HTTP/1.1\r\nHost: b.test\r\n\r\n")
        #expect(try text(Self.plain + [("x", "caf\u{e9}")]).contains("x: caf\u{e9}"))
        #expect(throws: HeadFault.self) { try text(Self.plain + [("x", "caf\u{fffd}")]) }
        #expect(try HTTP2RequestHead.trailers(["x-sum": "1"]) == ByteBuffer(string: "x-sum: 1\r\n"))
    }

    @Test("No byte of a name or a value can be one of HTTP/1.1's own")
    func everyByte() throws {
        for byte in UInt8.min..<0x80 {
            let character = String(UnicodeScalar(byte))
            let names = FieldSection.tokenBytes.contains(byte) && byte.lowercased == byte
            let isClean = ![0, 10, 13].contains(byte)
            let name = Self.plain + [("x\(character)", "1")]
            #expect(((try? text(name)) != nil) == names, "\(byte) in a name")
            let value = Self.plain + [("x", "1\(character)1")]
            #expect(((try? text(value)) != nil) == isClean, "\(byte) in a value")
            #expect(((try? HTTP2RequestHead.trailers(["x": "1\(character)1"])) != nil) == isClean)
            for index in Self.plain.indices {
                var fields = Self.plain
                fields[index].1 += character + "x"
                if !isClean || byte == 32 && fields[index].0 != ":authority" {
                    #expect(throws: HeadFault.self) { try text(fields) }
                }
            }
        }
    }

    @Test("Values are compared by their bytes, and pseudo-header fields come first")
    func verbatim() throws {
        func head(_ authority: String, _ host: String) throws -> String {
            try text(
                [(":method", "GET"), (":scheme", "https"), (":authority", authority), (":path", "/"), ("host", host)])
        }
        #expect(try head("K.test", "K.test").contains("Host: K.test\r\n"))
        // Equal to Unicode: the Kelvin sign.
        #expect(throws: HeadFault.self) { try head("K.test", "\u{212A}.test") }
        #expect(throws: HeadFault.self) { try text(Self.plain + [("te", "gzip")]) }
        #expect(throws: HeadFault.self) { try text([("x", "1")] + Self.plain) }
        #expect(throws: HeadFault.self) { try text(Self.plain.filter { $0.0 != ":path" } + [(":path", "")]) }
    }

    @Test(
        "A field that is there twice, is missing, or that HTTP/2 has not",
        arguments: [":method", ":scheme", ":authority", ":path"])
    func pseudoHeaders(_ name: String) {
        #expect(throws: HeadFault.self) { try text(Self.plain + Self.plain.filter { $0.0 == name }) }
        #expect(throws: HeadFault.self) { try text(Self.plain.filter { $0.0 != name }) }
        for field in ["connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade", ":status"] {
            #expect(throws: HeadFault.self) { try text(Self.plain + [(field, "x")]) }
            #expect(throws: HeadFault.self) { try HTTP2RequestHead.trailers(HPACKHeaders([(field, "x")])) }
        }
    }
}
