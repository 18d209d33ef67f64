import Testing

@testable import GatewayService

@Suite("Response heads")
struct ResponseHeadTests {
    private func scan(_ text: String) throws -> (head: ResponseHead, length: Int?) {
        var head = ResponseHead()
        let length = try Array(text.utf8).withUnsafeBytes { try head.scan($0) }
        return (head, length)
    }

    @Test("Status, reason and framing are read")
    func plain() throws {
        let text = "HTTP/1.1 404 Not Found\r\nContent-Length: 3\r\n\r\nabc"
        let (head, length) = try scan(text)
        #expect(length == text.utf8.count - 3)
        #expect(head.status == 404)
        #expect(head.framing(toHead: false) == .length(3))
        #expect(head.framing(toHead: true) == .length(0))
        #expect(head.keepsAlive)
        #expect(try scan("HTTP/1.1 200 \r\n\r\n").head.framing(toHead: false) == .untilClose)
        #expect(try scan("HTTP/1.1 200\r\n\r\n").length == 16)
        #expect(try scan("HTTP/1.1 304 X\r\nContent-Length: 3\r\n\r\n").head.framing(toHead: false) == .length(0))
        #expect(
            try scan("HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n").head.framing(toHead: false) == .chunked)
    }

    @Test("A head that ends early needs more, wherever it ends")
    func prefixes() throws {
        let text = "HTTP/1.1 200 OK\r\nContent-Type: a/b\r\n\r\n"
        for count in 0..<text.utf8.count {
            let prefix = String(decoding: text.utf8.prefix(count), as: UTF8.self)
            #expect(try scan(prefix).length == nil, "\(count) bytes")
        }
    }

    @Test("HTTP/1.0 keeps a connection only when it says so")
    func version10() throws {
        #expect(try !scan("HTTP/1.0 200 OK\r\n\r\n").head.keepsAlive)
        #expect(try scan("HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 0\r\n\r\n").head.keepsAlive)
        #expect(try !scan("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n").head.keepsAlive)
    }

    @Test(
        "What is no answer is refused",
        arguments: [
            "HTTP/1.2 200 OK\r\n\r\n", "HTTP/2 200 OK\r\n\r\n", "HTTP/1.1 20 OK\r\n\r\n", "HTTP/1.1 2000 OK\r\n\r\n",
            "HTTP/1.1 099 OK\r\n\r\n", "HTTP/1.1 600 OK\r\n\r\n", "HTTP/1.1  200 OK\r\n\r\n", "HTTP/1.1 200OK\r\n\r\n",
            "HTTP/1.1 200 O\u{0}K\r\n\r\n", "HTTP/1.1 200 OK\n\n", "SSH-2.0-OpenSSH\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
            "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
            "HTTP/1.1 204 No\r\nTransfer-Encoding: chunked\r\n\r\n", "HTTP/1.1 200 OK\r\nA : b\r\n\r\n",
            "HTTP/1.1 200 OK\r\nA: b\r\n c\r\n\r\n",
            "HTTP/1.1 200 OK\r\nConnection: \(String(repeating: "b,", count: 17))\r\n\r\n",
        ])
    func refused(_ text: String) {
        #expect(throws: HeadFault.self) { try scan(text) }
    }
}
