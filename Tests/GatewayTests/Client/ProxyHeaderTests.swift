import GatehouseServiceContracts
import Testing

@testable import GatewayService

@Suite("PROXY protocol")
struct ProxyHeaderTests {
    /// The client, `self` for the proxy itself or `unknown`, and how many bytes are left; `nil` while more is needed;
    /// `fault`.
    private func read(_ bytes: [UInt8]) -> String? {
        do throws(ProxyHeader.Fault) {
            guard let header = try ProxyHeader.read(bytes) else { return nil }
            let source =
                switch header.source {
                case .client(let address): String(decoding: address.text, as: UTF8.self)
                case .proxy: "self"
                case .unknown: "unknown"
                }
            return "\(source) \(bytes.count - header.length)"
        } catch {
            return "fault"
        }
    }

    private func read(_ line: String) -> String? { read(Array(line.utf8)) }

    private static let signature: [UInt8] = [13, 10, 13, 10, 0, 13, 10, 0x51, 0x55, 0x49, 0x54, 10]

    private func binary(_ command: UInt8, _ family: UInt8, _ rest: [UInt8]) -> [UInt8] {
        Self.signature + [command, family, UInt8(rest.count >> 8), UInt8(rest.count & 255)] + rest
    }

    @Test("Version 1")
    func lines() {
        #expect(read("PROXY TCP4 192.0.2.1 198.51.100.1 4711 443\r\nGET ") == "192.0.2.1 4")
        #expect(read("PROXY TCP6 2001:db8::1 ::1 0 65535\r\n") == "2001:db8::1 0")
        #expect(read("PROXY TCP6 ::ffff:192.0.2.1 ::1 1 2\r\n") == "192.0.2.1 0")
        #expect(read("PROXY UNKNOWN\r\nx") == "unknown 1")
        #expect(read("PROXY UNKNOWN anything at all\r\n") == "unknown 0")
    }

    @Test(
        "What is no line of version 1",
        arguments: [
            "GET / HTTP/1.1\r\n", "PROXI", "proxy TCP4 192.0.2.1 192.0.2.2 1 2\r\n", "PROXY \r\n", "PROXY\r\n",
            "PROXY TCP4 192.0.2.1 192.0.2.2 1 2\n", "PROXY TCP4 192.0.2.1 192.0.2.2 1\r\n",
            "PROXY TCP4 192.0.2.1  192.0.2.2 1 2\r\n", "PROXY TCP4 192.0.2.1 192.0.2.2 1 2 3\r\n",
            "PROXY TCP4 192.0.2.1 192.0.2.2 1 65536\r\n", "PROXY TCP4 192.0.2.1 192.0.2.2 01 2\r\n",
            "PROXY TCP4 192.0.2.1 192.0.2.2 -1 2\r\n", "PROXY TCP4 ::1 ::1 1 2\r\n",
            "PROXY TCP6 192.0.2.1 192.0.2.2 1 2\r\n", "PROXY TCP4 localhost 192.0.2.2 1 2\r\n",
            "PROXY TCP6 fe80::1%eth0 ::1 1 2\r\n", "PROXY UDP4 192.0.2.1 192.0.2.2 1 2\r\n",
            "PROXY UNKNOWN " + String(repeating: "x", count: 100) + "\r\n",
        ])
    func badLines(_ line: String) { #expect(read(line) == "fault") }

    @Test("Version 2")
    func binary() {
        let ports: [UInt8] = [0, 1, 0, 2]
        #expect(read(binary(0x21, 0x11, [192, 0, 2, 1, 198, 51, 100, 1] + ports) + [1, 2]) == "192.0.2.1 2")
        let six: [UInt8] = [0x20, 1, 0xd, 0xb8] + Array(repeating: 0, count: 11) + [1]
        #expect(read(binary(0x21, 0x21, six + six + ports)) == "2001:db8::1 0")
        let additions: [UInt8] = [4, 0, 1, 0]
        #expect(read(binary(0x21, 0x11, [192, 0, 2, 1, 198, 51, 100, 1] + ports + additions)) == "192.0.2.1 0")
        #expect(read(binary(0x20, 0x00, []) + [9]) == "self 1", "the proxy looks whether we are there")
        #expect(read(binary(0x20, 0x11, [192, 0, 2, 1, 198, 51, 100, 1] + ports)) == "self 0")
        for family: UInt8 in [0x00, 0x12, 0x22, 0x31, 0x32] { #expect(read(binary(0x21, family, [1])) == "unknown 0") }
    }

    @Test("What is no header of version 2")
    func badBinary() {
        #expect(read(binary(0x21, 0x11, [192, 0, 2, 1])) == "fault", "too short for its addresses")
        #expect(read(binary(0x11, 0x11, Array(repeating: 1, count: 12))) == "fault", "version 1")
        #expect(read(binary(0x22, 0x11, Array(repeating: 1, count: 12))) == "fault", "no such command")
        #expect(read(binary(0x21, 0x13, Array(repeating: 1, count: 12))) == "fault", "no such family")
        #expect(read(binary(0x21, 0x11, Array(repeating: 1, count: 4081))) == "fault", "longer than is believed")
        #expect(read(Self.signature.dropLast() + [11]) == "fault")
    }

    @Test("A header that comes in crumbs is waited for")
    func crumbs() {
        let headers = [
            Array("PROXY TCP4 192.0.2.1 198.51.100.1 4711 443\r\n".utf8), Array("PROXY UNKNOWN\r\n".utf8),
            binary(0x21, 0x11, [192, 0, 2, 1, 198, 51, 100, 1, 0, 1, 0, 2, 4, 0, 1, 0]),
        ]
        for header in headers {
            for count in 0..<header.count { #expect(read(Array(header.prefix(count))) == nil, "\(count)") }
            #expect(read(header)?.hasSuffix(" 0") == true)
        }
    }

    @Test("Services are told the client that the proxy tells; without a header, or from elsewhere, no client comes in")
    func connections() async throws {
        for trusted in ["127.0.0.0/8", "192.0.2.0/24"] {
            let options = GatewayHarness.Options {
                $0.settings.expectsProxyHeader = true
                $0.settings.trustedProxies = TrustedProxies([trusted])!
            }
            try await GatewayHarness.withGateway(options) { gateway in
                // A proxy that looks at no field carries on what its client says.
                let request = GatewayHarness.request("GET /open", fields: "X-Forwarded-For: 192.0.2.66\r\n")
                for header in ["PROXY TCP4 203.0.113.7 198.51.100.1 4711 443\r\n", "PROXY UNKNOWN\r\n"] {
                    let client = try await gateway.connect()
                    if trusted.hasPrefix("127") {
                        // In crumbs, too.
                        try await client.send(String(header.prefix(9)))
                        try await client.send(String(header.dropFirst(9)) + request)
                        #expect(try await client.answer().status == 200)
                        try await client.send(request)
                        #expect(try await client.answer().status == 200)
                        await client.close()
                    } else {
                        try? await client.send(header + request)
                        #expect(try await client.untilClosed() == "")
                    }
                }
                let bare = try await gateway.connect()
                try? await bare.send(request)
                #expect(try await bare.untilClosed() == "")
                let addresses = gateway.team.requests.map { $0.field(HeaderName.clientAddress) }
                #expect(
                    addresses
                        == (trusted.hasPrefix("127")
                            ? ["203.0.113.7", "203.0.113.7", "127.0.0.1", "127.0.0.1"] : []))
            }
        }
    }
}
