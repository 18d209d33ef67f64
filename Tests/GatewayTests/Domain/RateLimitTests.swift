import Testing

@testable import GatewayService

@Suite("Rate limits")
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
        let limiter = RateLimiter<AddressKey>(RateLimit(capacity: 1, perSecond: 1))
        #expect(limiter.take(AddressKey(value: 1), now: 5) == nil)
        #expect(limiter.take(AddressKey(value: 1), now: 5) != nil)
        #expect(limiter.take(AddressKey(value: 2), now: 5) == nil)
        for value in 0..<300_000 { _ = limiter.take(AddressKey(value: UInt64(value)), now: 5) }
        #expect(limiter.take(AddressKey(value: 299_999), now: 5) != nil)
    }
}
