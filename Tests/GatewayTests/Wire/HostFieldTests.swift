import Foundation
import Testing

@testable import GatewayService

@Suite("Host")
struct HostFieldTests {
    private func isValid(_ text: String) -> Bool { Array(text.utf8).withUnsafeBytes { HostField.isValid($0) } }

    @Test("Names are of unreserved bytes, ports of digits, and nothing else stands there")
    func everyByte() {
        for byte in UInt8.min ... .max {
            let isName = byte < 128 && ByteSet(.alphanumeric, "-._~").contains(byte)
            let isDigit = (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
            let isHex = byte < 128 && ByteSet(.empty, "0123456789abcdefABCDEF").contains(byte)
            func isValid(_ bytes: [UInt8]) -> Bool { bytes.withUnsafeBytes { HostField.isValid($0) } }
            let isColon = byte == UInt8(ascii: ":")
            #expect(isValid([byte]) == isName, "\(byte)")
            #expect(isValid(Array("a".utf8) + [byte]) == (isName || isColon), "a\(byte)")
            #expect(isValid([byte] + Array("a".utf8)) == isName, "\(byte)a")
            #expect(isValid(Array("a:".utf8) + [byte]) == isDigit, "a:\(byte)")
            #expect(isValid(Array("[::1]".utf8) + [byte]) == isColon, "[::1]\(byte)")
            #expect(isValid(Array("[::1]:".utf8) + [byte]) == isDigit, "[::1]:\(byte)")
            #expect(isValid(Array("[::".utf8) + [byte, UInt8(ascii: "]")]) == isHex, "[::\(byte)]")
        }
    }

    @Test(
        "Hosts",
        arguments: [
            "a", "a.example", "A-1_b~c", "1.2.3.4", "999.1", "a:", "a:0", "a:80", "a:00080", "a:65535", "[::]", "[::1]",
            "[::1]:", "[::1]:443", "[2001:db8::ff00:42:8329]", "[1:2:3:4:5:6:7:8]", "[1:2:3:4:5:6:1.2.3.4]",
            "[::ffff:1.2.3.4]", "[FE80::1]", "[ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255]",
        ])
    func good(_ text: String) { #expect(isValid(text)) }

    @Test(
        "What is none",
        arguments: [
            "", ":", ":80", "a:b", "a:80:90", "a:-1", "a:+1", "a: 1", "a:65536", "a:000080", "a[b", "a]", "[", "]",
            "[]",
            "[::1", "::1]", "::1", "[::1]]", "[[::1]]", "[::1]80", "[::1]:80:90", "[::1]a", "[:]", "[:::]", "[1]",
            "[1:2:3:4:5:6:7]", "[1:2:3:4:5:6:7:8:9]", "[12345::]", "[g::]", "[::1%25eth0]", "[fe80::1%eth0]",
            "[1.2.3.4]", "[::1.2.3]", "[::1.2.3.256]", "[v1.fe]", "a%41", "a,b", "a;b", "a'b", "a@b", "a/b", "a?b",
            "a#b", "a\\b", "a b", "\u{e9}", "[::1\u{0}]",
        ])
    func bad(_ text: String) { #expect(!isValid(text)) }
}
