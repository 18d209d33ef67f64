import Foundation
import Testing

@testable import GatewayService

@Suite("Rate limits and revoked sessions")
struct RateLimitTests {
    @Test("A bucket gives what it holds, and then as fast as it is refilled")
    func bucket() {
        let limit = RateLimit(capacity: 3, perSecond: 2)
        var state: Int64 = 0
        let second: Int64 = 1_000_000_000
        let now = 100 * second
        for _ in 0..<3 { #expect(limit.take(&state, now: now) == nil) }
        #expect(limit.take(&state, now: now) == second / 2)
        #expect(limit.take(&state, now: now + second / 2) == nil)
        #expect(limit.take(&state, now: now + second / 2) != nil)
        for _ in 0..<3 { #expect(limit.take(&state, now: now + 10 * second) == nil) }
    }

    @Test("Each address has its own; many of them are forgotten, not kept")
    func addresses() {
        let limiter = AddressLimiter(RateLimit(capacity: 1, perSecond: 1))
        #expect(limiter.take(AddressKey(value: 1), now: 5) == nil)
        #expect(limiter.take(AddressKey(value: 1), now: 5) != nil)
        #expect(limiter.take(AddressKey(value: 2), now: 5) == nil)
        for value in 0..<300_000 { _ = limiter.take(AddressKey(value: UInt64(value)), now: 5) }
        #expect(limiter.take(AddressKey(value: 299_999), now: 5) != nil)
    }

    @Test("A session is live, revoked or unknown")
    func revoked() {
        let sessions = RevokedSessions(maximumStaleness: 100)
        let one = UUID()
        #expect(sessions.verdict(on: one, now: 1000) == .unknown)
        sessions.apply([(one, 2000)], isEnd: false, now: 1000)
        #expect(!sessions.isUsable(now: 1000))
        sessions.apply([], isEnd: true, now: 1000)
        #expect(sessions.verdict(on: one, now: 1000) == .revoked)
        #expect(sessions.verdict(on: UUID(), now: 1100) == .live)
        sessions.feedIsLost(now: 1100)
        #expect(sessions.verdict(on: UUID(), now: 1200) == .live)
        #expect(sessions.verdict(on: UUID(), now: 1201) == .unknown)
        // Forgotten once no token of it lives.
        sessions.apply([], isEnd: true, now: 2100)
        #expect(sessions.count == 0)
    }

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
    }
}
