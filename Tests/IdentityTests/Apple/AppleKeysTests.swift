import Foundation
import GatehouseAccessTokens
import GatehouseBytes
import Synchronization
import TestKit
import Testing

@testable import IdentityCredentials

@Suite struct AppleKeysTests {
    private func keySet(_ keys: RSAPublicKey...) throws -> AppleKeySet {
        try AppleKeySet(jwks: Data(VerificationKeySet(keys: keys).jwks()))
    }

    /// RFC 7517 §5: a key that Apple published by mistake, or for another use, stops no sign-in.
    @Test func aKeyThatCannotBeUsedIsLeftOut() throws {
        let (key, other) = (try RSAPrivateKey.generate().publicKey, try RSAPrivateKey.generate().publicKey)
        let jwks = String(decoding: try VerificationKeySet(keys: [key]).jwks(), as: UTF8.self)
        let entry = { (kid: String, n: [UInt8]) in
            #"{"kty":"RSA","kid":"\#(kid)","e":"AQAB","n":"\#(Base64URL.string(n))"},"#
        }
        func read(_ entries: String) throws -> AppleKeySet {
            try AppleKeySet(jwks: Data(jwks.replacing("[", with: "[" + entries).utf8))
        }
        for odd in [
            entry("weak", [UInt8](repeating: 0xFF, count: 128)), entry("", other.modulus), #"{"kty":null,"kid":"x"},"#,
            "{},", "1,", #"{"kty":"EC","crv":"P-256","kid":"\#(key.thumbprint)","x":"AA","y":"AA"},"#,
        ] {
            let keys = try read(odd)
            #expect(keys[key.thumbprint] != nil && keys["weak"] == nil && keys.unusable.count == 1, "\(odd)")
        }
        #expect(try read(#"{"kty":"EC","crv":"P-384","kid":"ec","x":"AA","y":"AA"},"#).unusable.isEmpty)
        // Which of two keys counts would be unknown.
        #expect(throws: AccessTokenError.self) { try read(entry(key.thumbprint, other.modulus)) }
        #expect(throws: AccessTokenError.self) { try AppleKeySet(jwks: Data(#"{"keys":[{}]}"#.utf8)) }
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
