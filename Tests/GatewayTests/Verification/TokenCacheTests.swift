import AccessToken
import Contracts
import Foundation
import Testing

@testable import GatewayService

@Suite("What is kept of verified tokens")
struct TokenCacheTests {
    private var now: Int64 { Int64(Date.now.timeIntervalSince1970) }

    @Test("The cache holds what it was told to, and nothing beyond generation or expiry")
    func cache() throws {
        var cache = TokenCache(capacity: 10)
        func digest(_ number: Int) -> TokenCache.Digest {
            Array("token \(number)".utf8).withUnsafeBytes { TokenCache.Digest($0) }
        }
        let claims = GatewayHarness.claims(expiresIn: 60)
        let token = VerifiedToken(claims, generation: 1)
        for number in 0..<100 {
            cache.insert(token, as: digest(number))
            #expect(cache.count <= 10)
            // What is used stays.
            #expect(cache.token(digest(0), generation: 1, now: now) != nil)
        }
        #expect(cache.token(digest(99), generation: 1, now: now) != nil)
        #expect(cache.token(digest(50), generation: 1, now: now) == nil)
        #expect(cache.token(digest(99), generation: 1, now: claims.expiresAt) == nil)
        cache.insert(token, as: digest(1))
        #expect(cache.token(digest(1), generation: 2, now: now) == nil)
    }

    @Test("A token is good until its expiry and the leeway, and while its session lives")
    func acceptance() throws {
        let keys = KeyStore(issuer: "http://gatehouse.test", audience: "gatehouse", leeway: 30)
        try keys.replace(VerificationKeySet(keys: [GatewayHarness.key.publicKey]))
        let revoked = RevokedSessions(maximumStaleness: 3600)
        revoked.apply([], isEnd: true, now: now)
        let bearers = BearerVerifier(keys: keys, revoked: revoked, cacheCapacity: 10)
        let claims = GatewayHarness.claims(expiresIn: 60)
        let text = Array(try GatewayHarness.token(claims).utf8)
        func verdict(at time: Int64) -> BearerVerifier.Verdict {
            text.withUnsafeBytes { bearers.verify($0, now: time) }
        }
        guard case .accepted(let token) = verdict(at: claims.expiresAt + 29) else {
            Issue.record("a token is refused within the leeway")
            return
        }
        guard case .refused(.tokenExpired) = verdict(at: claims.expiresAt + 30) else {
            Issue.record("a token is taken after the leeway")
            return
        }
        #expect(bearers.accepts(token, now: claims.expiresAt + 29))
        #expect(!bearers.accepts(token, now: claims.expiresAt + 30))
        revoked.apply([(session: claims.sessionID, expiresAt: claims.expiresAt)], isEnd: true, now: now)
        #expect(!bearers.accepts(token, now: now))
    }

    @Test("Nothing of a token gets into a head but visible ASCII")
    func identityLines() {
        let token = VerifiedToken(
            GatewayHarness.claims(role: "a\r\nb é", stores: ["x\r\ny", "z"]), generation: 1)
        let text = String(decoding: token.identityLines, as: UTF8.self)
        #expect(text.contains("Gatehouse-Role: a%0D%0Ab%20%C3%A9\r\n"))
        #expect(text.contains("Gatehouse-Store-Ids: x%0D%0Ay,z\r\n"))
        #expect(text.split(separator: "\r\n").count == 4)
    }
}
