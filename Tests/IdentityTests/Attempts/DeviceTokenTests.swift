import Crypto
import Foundation
import Testing

@testable import IdentityService

@Suite struct DeviceTokenTests {
    private static let key = SymmetricKey(data: Data(repeating: 7, count: 32))
    private static let other = SymmetricKey(data: Data(repeating: 8, count: 32))
    private static let now: Int64 = 1_795_176_000
    private static let token = DeviceToken(deviceID: UUID(), userID: UUID(), issuedAt: now)

    @Test func isReadAsItWasSigned() {
        let text = Self.token.signed(with: Self.key)
        #expect(text.count == 103 && text.hasPrefix("ghdt_"))
        for keys in [[Self.key], [Self.other, Self.key]] {
            #expect(DeviceToken(text, keys: keys, now: Self.now) == Self.token)
        }
        #expect(DeviceToken(text, keys: [Self.other], now: Self.now) == nil)
        #expect(DeviceToken(text, keys: [], now: Self.now) == nil)
    }

    @Test func servesHalfAYear() {
        let text = Self.token.signed(with: Self.key)
        for (age, isGood) in [(-60, true), (180 * 86_400, true), (180 * 86_400 + 1, false)] as [(Int64, Bool)] {
            #expect((DeviceToken(text, keys: [Self.key], now: Self.now + age) != nil) == isGood, "\(age)")
        }
    }

    @Test func nothingOfItCanBeChanged() {
        let text = Self.token.signed(with: Self.key)
        for index in text.indices {
            var changed = text
            changed.replaceSubrange(index...index, with: text[index] == "A" ? "B" : "A")
            #expect(DeviceToken(changed, keys: [Self.key], now: Self.now) == nil)
        }
        for changed in ["", "ghdt_", text + "A", String(text.dropLast()), text + "=", "x" + text.dropFirst()] {
            #expect(DeviceToken(changed, keys: [Self.key], now: Self.now) == nil)
        }
    }
}
