import Testing

@testable import GatewayService

@Suite("Request heads")
struct RequestHeadTests {
    private func scan(_ text: String) throws -> (head: RequestHead, length: Int?) {
        try scan(Array(text.utf8))
    }

    private func scan(_ bytes: [UInt8]) throws -> (head: RequestHead, length: Int?) {
        var head = RequestHead()
        let length = try bytes.withUnsafeBytes { try head.scan($0) }
        return (head, length)
    }

    @Test("A plain head is read")
    func plain() throws {
        let text = "PATCH /v1/auth/me?x=1 HTTP/1.1\r\nHost: a.example:80\r\nX-Empty:\r\nContent-Length: 12\r\n\r\nbody"
        let (head, length) = try scan(text)
        #expect(length == text.utf8.count - 4)
        #expect(head.method == .patch)
        #expect(head.path == 6..<17)
        #expect(head.target == 6..<21)
        #expect(head.framing == .length(12))
        #expect(head.fields.lines.count == 3)
    }

    @Test("A head that ends early needs more, wherever it ends")
    func prefixes() throws {
        let text = "POST /v1/a%20b?c HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nA: b c \t\r\n\r\n"
        for count in 0..<text.utf8.count {
            #expect(try scan(Array(text.utf8.prefix(count))).length == nil, "\(count) bytes")
        }
        #expect(try scan(text).head.framing == .chunked)
    }

    @Test(
        "What two parsers could read in two ways is refused",
        arguments: [
            "GET / HTTP/1.1\nHost: h\n\n",
            "GET / HTTP/1.1\r\nHost: h\r\nA: b\n\r\n",
            "GET / HTTP/1.1\r\nHost: h\r\nA: b\rc\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: h\r\nA: b\r\n c\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: h\r\n A: b\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: h\r\nA : b\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: h\r\nA\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: h\r\n: b\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: h\r\nA(: b\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: h\r\nA: b\u{0}\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: h\r\nA: b\u{7f}\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: h\r\nHost: h\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: h\r\nhost: i\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: \r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a b\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: user@a\r\n\r\n",
            "GET / HTTP/1.1\r\n\r\n",
            "GET  / HTTP/1.1\r\nHost: h\r\n\r\n",
            "GET /  HTTP/1.1\r\nHost: h\r\n\r\n",
            "GET /\tHTTP/1.1\r\nHost: h\r\n\r\n",
            " GET / HTTP/1.1\r\nHost: h\r\n\r\n",
            "\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n",
            "GET / HTTP/1.0\r\nHost: h\r\n\r\n",
            "GET / HTTP/2.0\r\nHost: h\r\n\r\n",
            "GET / http/1.1\r\nHost: h\r\n\r\n",
            "GET /\r\n\r\n",
            "G(T / HTTP/1.1\r\nHost: h\r\n\r\n",
            "GET http://h/ HTTP/1.1\r\nHost: h\r\n\r\n",
            "OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n",
            "CONNECT h:80 HTTP/1.1\r\nHost: h\r\n\r\n",
            "GET /a#b HTTP/1.1\r\nHost: h\r\n\r\n",
            "GET /?a=%zz HTTP/1.1\r\nHost: h\r\n\r\n",
            "GET /\u{e9} HTTP/1.1\r\nHost: h\r\n\r\n",
            "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n",
            "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1, 1\r\n\r\n",
            "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: +1\r\n\r\n",
            "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: -1\r\n\r\n",
            "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 0x1\r\n\r\n",
            "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1 1\r\n\r\n",
            "POST / HTTP/1.1\r\nHost: h\r\nContent-Length:\r\n\r\n",
            "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 18446744073709551617\r\n\r\n",
            "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
            "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n",
            "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
            "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
            "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked, identity\r\n\r\n",
            "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: xchunked\r\n\r\n",
            "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: \"chunked\"\r\n\r\n",
            "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding:\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: h\r\nConnection: a b\r\n\r\n",
        ])
    func refused(_ text: String) {
        #expect(throws: HeadFault.self) { try scan(text) }
    }

    @Test("A head over 16 KiB or with more than 100 fields is too large, complete or not")
    func tooLarge() throws {
        let line = "GET / HTTP/1.1\r\nHost: h\r\n"
        let long = line + "A: " + String(repeating: "a", count: 16 * 1024)
        #expect(throws: HeadFault.tooLarge) { try scan(long) }
        #expect(throws: HeadFault.tooLarge) { try scan(long + "\r\n\r\n") }
        #expect(throws: HeadFault.targetTooLong) { try scan("GET /" + String(repeating: "a", count: 17_000)) }
        let fitting = line + String(repeating: "A: b\r\n", count: 99) + "\r\n"
        #expect(try scan(fitting).length == fitting.utf8.count)
        let many = line + String(repeating: "A: b\r\n", count: 100) + "\r\n"
        #expect(throws: HeadFault.tooLarge) { try scan(many) }
    }

    @Test("White space around a value is not part of it")
    func blanks() throws {
        let text = "GET / HTTP/1.1\r\nHost: \t h \t\r\n\r\n"
        let (head, _) = try scan(text)
        let line = head.fields.lines[0]
        #expect(String(decoding: Array(text.utf8)[line.value], as: UTF8.self) == "h")
    }

    @Test("Connection says whether to close, and names fields of one hop")
    func connection() throws {
        let head = try scan("GET / HTTP/1.1\r\nHost: h\r\nConnection: Close, X-One ,, keep-alive\r\nX-One: 1\r\n\r\n")
            .head
        #expect(head.fields.hasCloseOption && head.fields.hasKeepAliveOption && head.fields.hasConnectionOptions)
        #expect(try !scan("GET / HTTP/1.1\r\nHost: h\r\nConnection: keep-alive\r\n\r\n").head.fields.hasCloseOption)
    }
}
