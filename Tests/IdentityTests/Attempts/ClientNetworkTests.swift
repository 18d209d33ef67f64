import Testing

@testable import IdentityService

@Suite struct ClientNetworkTests {
    @Test(
        arguments: [
            ("203.0.113.7", "203.0.113.7", "203.0.113.7"),
            ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64", "2001:db8:1::/48"),
            ("2001:db8::1", "2001:db8:0:0::/64", "2001:db8:0::/48"), ("::1", "0:0:0:0::/64", "0:0:0::/48"),
            ("fe80::1%eth0", "fe80:0:0:0::/64", "fe80:0:0::/48"),
            ("::ffff:203.0.113.7", "::ffff:203.0.113.7", "::ffff:203.0.113.7"), ("", "", ""),
        ])
    func countsIPv6ByPrefix(address: String, subscriber: String, site: String) {
        #expect(ClientNetwork.subscriber(of: address) == subscriber)
        #expect(ClientNetwork.site(of: address) == site)
    }
}
