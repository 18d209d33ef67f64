import Testing

@testable import GatewayService

@Suite("Addresses of clients")
struct ClientAddressTests {
    @Test("IPv6 counts by network, IPv4 by address; proxies are believed when they are ours")
    func clients() throws {
        let one = try #require(ClientAddress("2001:db8::1"))
        #expect(one.key == ClientAddress("2001:db8::ffff:1")?.key)
        #expect(one.key != ClientAddress("2001:db8:0:1::1")?.key)
        #expect(ClientAddress("::ffff:10.0.0.1") == ClientAddress("10.0.0.1"))
        #expect(ClientAddress("10.0.0.1")?.key != ClientAddress("10.0.0.2")?.key)
        let proxies = try #require(TrustedProxies(["10.0.0.0/8", "::1"]))
        let peer = try #require(ClientAddress("10.1.2.3"))
        #expect(proxies.contains(peer) && !proxies.contains(one))
        let client = proxies.client(behind: peer, forwardedFor: ["6.6.6.6", "1.2.3.4", "10.9.9.9"])
        #expect(client == ClientAddress("1.2.3.4"))
        #expect(proxies.client(behind: one, forwardedFor: ["1.2.3.4"]) == one)
        #expect(proxies.client(behind: peer, forwardedFor: ["1.2.3.4", "junk"]) == peer)
        #expect(TrustedProxies(["10.0.0.0/33"]) == nil && TrustedProxies(["host"]) == nil)
        #expect(proxies.client(behind: peer, forwardedFor: ["6.6.6.6", "1.2.3.4:5678"]) == ClientAddress("1.2.3.4"))
    }

    @Test("A zone goes no further")
    func zone() throws {
        #expect(try #require(ClientAddress("fe80::1%eth0")).text == Array("fe80::1".utf8))
        #expect(ClientAddress(forwarded: "[fe80::1%x\u{7}y]:443") == ClientAddress("fe80::1"))
    }

    @Test("A port behind an address is left out, and nothing else")
    func ports() {
        let good = [
            ("1.2.3.4", "1.2.3.4"), ("1.2.3.4:5678", "1.2.3.4"), ("1.2.3.4:1", "1.2.3.4"),
            ("2001:db8::1", "2001:db8::1"),
            ("[2001:db8::1]", "2001:db8::1"), ("[2001:db8::1]:443", "2001:db8::1"), ("::ffff:1.2.3.4", "1.2.3.4"),
            ("[::ffff:1.2.3.4]:1", "1.2.3.4"), ("::1", "::1"),
        ]
        for (text, address) in good {
            #expect(ClientAddress(forwarded: text[...]) == ClientAddress(address), "\(text)")
        }
        for text in [
            "", ":", "1.2.3.4:", "1.2.3.4:x", "1.2.3.4:123456", "1.2.3.4:1:2", "[1.2.3.4]", "[1.2.3.4]:1", "[::1",
            "[::1]x",
            "[::1]:", "[::1]:x", "[]", "unknown", "a:80", "_hidden", "1.2.3:80",
        ] {
            #expect(ClientAddress(forwarded: text[...]) == nil, "\(text)")
        }
    }
}
