import AccessToken
import Foundation
import Synchronization
import TestKit
import Testing

@testable import IdentityService

@Suite struct AppleKeysTests {
    private func keySet(_ keys: RSAPublicKey...) throws -> AppleKeySet {
        try AppleKeySet(jwks: Data(VerificationKeySet(keys: keys).jwks()))
    }

    /// A request joins a background fetch that began before Apple published the key, and needs one of its own.
    @Test func aKeyThatAppleHasJustPublishedIsFetched() async throws {
        let (old, new) = (try RSAPrivateKey.generate().publicKey, try RSAPrivateKey.generate().publicKey)
        let published = [try keySet(old), try keySet(old), try keySet(old, new)]
        let fetches = Mutex(0)
        let (opened, gate) = AsyncStream<Void>.makeStream()
        // Each use fetches the keys again in the background.
        let keys = AppleKeys(rules: .init(maximumAge: .zero), logger: .quiet) {
            let number = fetches.withLock { fetches in
                fetches += 1
                return fetches
            }
            // The second fetch has the keys of its beginning, and ends late.
            if number == 2 { for await _ in opened {} }
            return published[min(number, published.count) - 1]
        }
        let first = try await keys.key(old.thumbprint)
        #expect(first != nil)
        async let second = keys.key(new.thumbprint)
        try await eventually("the second fetch has begun") { fetches.withLock { $0 } == 2 }
        gate.finish()
        let found = try await second
        #expect(found != nil)
    }
}
