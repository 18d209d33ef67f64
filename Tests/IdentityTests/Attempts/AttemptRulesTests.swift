import Crypto
import Foundation
import Testing

@testable import IdentityCore

@Suite struct AttemptRulesTests {
    // MARK: - Networks

    @Test(
        arguments: [
            ("203.0.113.7", "203.0.113.7", "203.0.113.7"),
            ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64", "2001:db8:1::/48"),
            ("2001:db8::1", "2001:db8:0:0::/64", "2001:db8:0::/48"), ("::1", "0:0:0:0::/64", "0:0:0::/48"),
            ("fe80::1%eth0", "fe80:0:0:0::/64", "fe80:0:0::/48"),
            ("::ffff:203.0.113.7", "::ffff:203.0.113.7", "::ffff:203.0.113.7"), ("", "", ""),
        ])
    func anIPv6AddressIsCountedByItsPrefix(address: String, subscriber: String, site: String) {
        #expect(ClientNetwork.subscriber(of: address) == subscriber)
        #expect(ClientNetwork.site(of: address) == site)
    }

    // MARK: - Tokens of devices

    private static let key = SymmetricKey(data: Data(repeating: 7, count: 32))
    private static let other = SymmetricKey(data: Data(repeating: 8, count: 32))
    private static let now: Int64 = 1_795_176_000
    private static let token = KnownDeviceToken(deviceID: UUID(), userID: UUID(), issuedAt: now)

    @Test func aTokenIsReadAsItWasSigned() {
        let text = Self.token.signed(with: Self.key)
        #expect(text.count == 103 && text.hasPrefix("ghdt_"))
        for keys in [[Self.key], [Self.other, Self.key]] {
            #expect(KnownDeviceToken(text, keys: keys, now: Self.now) == Self.token)
        }
        #expect(KnownDeviceToken(text, keys: [Self.other], now: Self.now) == nil)
        #expect(KnownDeviceToken(text, keys: [], now: Self.now) == nil)
    }

    @Test func aTokenServesHalfAYear() {
        let text = Self.token.signed(with: Self.key)
        for (age, isGood) in [(-60, true), (180 * 86_400, true), (180 * 86_400 + 1, false)] as [(Int64, Bool)] {
            #expect((KnownDeviceToken(text, keys: [Self.key], now: Self.now + age) != nil) == isGood, "\(age)")
        }
    }

    @Test func aChangedTokenIsRefused() {
        let text = Self.token.signed(with: Self.key)
        for index in text.indices {
            var changed = text
            changed.replaceSubrange(index...index, with: text[index] == "A" ? "B" : "A")
            #expect(KnownDeviceToken(changed, keys: [Self.key], now: Self.now) == nil)
        }
        for changed in ["", "ghdt_", text + "A", String(text.dropLast()), text + "=", "x" + text.dropFirst()] {
            #expect(KnownDeviceToken(changed, keys: [Self.key], now: Self.now) == nil)
        }
    }
}
