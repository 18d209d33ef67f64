import Foundation
import GatehouseBytes
import Sealing
import Testing

@testable import IdentityCredentials

@Suite struct AppleNonceIssuerTests {
    private let keys = KeyRing.sample
    private let now: Int64 = 1_800_000_000

    @Test func isKnownAgainUntilItExpires() {
        let issuer = AppleNonceIssuer(keys: keys)
        let nonce = issuer.issue(now: now)
        #expect(nonce != issuer.issue(now: now))
        #expect(issuer.verify(nonce, now: now) == .ours(expiresAt: now + 600))
        #expect(issuer.verify(nonce, now: now + 599) == .ours(expiresAt: now + 600))
        #expect(issuer.verify(nonce, now: now + 600) == .invalid)
        #expect(issuer.verify("of the app's own", now: now) == .notOurs)
    }

    @Test func isNotForged() throws {
        let issuer = AppleNonceIssuer(keys: keys)
        let nonce = issuer.issue(now: now)
        let bytes = try #require(Base64URL.decode(nonce.dropFirst(4)))
        for index in bytes.indices {
            var changed = bytes
            changed[index] ^= 1
            #expect(issuer.verify("ghn_" + Base64URL.string(changed), now: now) == .invalid)
        }
        for text in ["ghn_", nonce + "A", nonce + "=", String(nonce.dropLast())] {
            #expect(issuer.verify(text, now: now) == .invalid)
        }
    }

    @Test func survivesAChangeOfKeys() throws {
        let nonce = AppleNonceIssuer(keys: keys).issue(now: now)
        let second = "k2:\(Data(repeating: 2, count: 32).base64EncodedString())"
        let both = try KeyRing(second + "\nk1:\(Data(repeating: 1, count: 32).base64EncodedString())")
        #expect(AppleNonceIssuer(keys: both).verify(nonce, now: now) == .ours(expiresAt: now + 600))
        #expect(AppleNonceIssuer(keys: try KeyRing(second)).verify(nonce, now: now) == .invalid)
    }
}
