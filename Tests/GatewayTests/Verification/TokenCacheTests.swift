import Foundation
import GatehouseAccessTokens
import GatehouseServiceContracts
import GatehouseTokenValidation
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
        let token = VerifiedToken(claims, identityLines: [], generation: 1)
        func find(_ number: Int, generation: Int = 1, now: Int64? = nil) -> VerifiedToken? {
            cache.token(digest(number), now: now ?? self.now, isCurrent: { $0.generation == generation })
        }
        for number in 0..<100 {
            cache.insert(token, as: digest(number))
            #expect(cache.count <= 10)
            // What is used stays.
            #expect(find(0) != nil)
        }
        #expect(cache.count == 10)
        // Of the others those that came last.
        for number in 1..<91 { #expect(find(number) == nil, "\(number)") }
        for number in 91..<100 { #expect(find(number) != nil, "\(number)") }
        #expect(find(99, now: claims.expiresAt) == nil)
        cache.insert(token, as: digest(1))
        #expect(find(1) != nil && find(1, generation: 2) == nil)
        // All of them were used: the hand goes round once.
        for number in 91..<99 { _ = find(number) }
        cache.insert(token, as: digest(2))
        #expect(cache.count == 10 && find(2) != nil)
        // Under the same digest there is one.
        cache.insert(VerifiedToken(claims, identityLines: [], generation: 3), as: digest(2))
        #expect(cache.count == 10 && find(2) == nil && find(2, generation: 3) != nil)
    }

    @Test("A token is good until its expiry and the leeway, and while its session lives")
    func acceptance() throws {
        let keys = IssuerKeys(issuer: "http://gatehouse.test", audience: "gatehouse", leeway: 30)
        try keys.replace(VerificationKeySet(keys: [GatewayHarness.key.publicKey]))
        let revoked = RevokedSessions(maximumStaleness: 3600)
        revoked.apply([], isEnd: true, now: now)
        let bearers = CachingBearerVerifier(keys: keys, revoked: revoked, cacheCapacity: 10)
        let claims = GatewayHarness.claims(expiresIn: 60)
        let text = Array(try GatewayHarness.token(claims).utf8)
        func verdict(at time: Int64) -> CachingBearerVerifier.Verification {
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
        #expect(bearers.endOfStream(with: token, now: claims.expiresAt + 29) == nil)
        #expect(bearers.endOfStream(with: token, now: claims.expiresAt + 30) == "stream outlived its token")
        revoked.apply([(session: claims.sessionID, expiresAt: claims.expiresAt)], isEnd: true, now: now)
        #expect(bearers.endOfStream(with: token, now: now) == "stream of a revoked session")
    }
}
